import type { RecordedNotes } from "../../ports/recorded-notes.ts";
import type { ListenAddress } from "../tcp-server.ts";
import type { ThreadStart } from "../thread/thread-start.ts";

/** How the page is served, as plain data: that is done in a thread of its own. */
export interface UiSettings {
  readonly address: ListenAddress;
  /** Whether the page may run commands in containers. */
  readonly terminal: boolean;
  /** As which the agent runs. */
  readonly mode: "up" | "kubelet" | "sim";
  /** The folder of the built page; undefined = it is data of this executable. */
  readonly pageFolder: string | undefined;
  /** The agent's local API, which answers for the page. */
  readonly agentSocket: string;
}

/** What the thread of the page is started with. */
export interface UiThreadData extends ThreadStart {
  readonly settings: UiSettings;
}

/** From the agent to the thread: a browser with this code may log in once. */
export interface UiThreadOrder {
  readonly codeDigest: string;
}

/** From the thread to the agent. */
export type UiThreadEvent =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "cannot-listen"; readonly message: string };

/** All that the thread of the page asks of the agent, beside its local API. */
export interface UiCalls {
  /** Takes over what was logged since the last call. */
  record(asked: RecordedNotes, signal: AbortSignal): Promise<void>;
}

/** How long a code may be used. */
export const codeLifetimeMs: number = 5 * 60_000;
