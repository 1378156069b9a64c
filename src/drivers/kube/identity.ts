import type { KeyPair } from "../../model/key-pair.ts";

/** Who a request says that it comes from. */
export interface Identity {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly pair?: KeyPair | undefined;
}

/** Where the identity of requests comes from; it may change from one to the next. */
export interface IdentitySource {
  current(signal: AbortSignal): Promise<Identity>;
  /** The server did not accept it (401). Answers whether the current one is another now. */
  refresh(refused: Identity, signal: AbortSignal): Promise<boolean>;
}
