import { withDeadline } from "../../lib/deadline.ts";
import { startTimer } from "../../lib/timers.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import { noLongerNeeded } from "../../lib/with-either.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { Identity, IdentitySource } from "./identity.ts";

const waitMs = 10_000;

/** A certificate that is renewed while it is used, and that may not be there yet. */
export interface RenewedPair {
  current(): KeyPair | undefined;
  onChange(listener: (pair: KeyPair) => void, signal: AbortSignal): void;
}

/** Requests show the certificate of the moment. Before there is one they wait a little, or use `before`. */
export function certificateIdentity(
  pairs: RenewedPair,
  before: IdentitySource | undefined,
): IdentitySource {
  return {
    current: async (signal): Promise<Identity> => {
      const pair = pairs.current();
      if (pair !== undefined) return { headers: {}, pair };
      if (before !== undefined) return before.current(signal);
      return { headers: {}, pair: await nextPair(pairs, signal) };
    },
    refresh: async (refused, signal) =>
      pairs.current() === undefined && before !== undefined
        ? before.refresh(refused, signal)
        : false,
  };
}

async function nextPair(pairs: RenewedPair, signal: AbortSignal): Promise<KeyPair> {
  const limit = { ms: waitMs, what: "waiting for a valid client certificate" };
  return await withDeadline({ startTimer }, limit, signal, async (bounded) => {
    const done = new AbortController();
    const next = new Promise<KeyPair>((resolve) => pairs.onChange(resolve, done.signal));
    return await untilAborted(next, bounded).finally(() => done.abort(noLongerNeeded));
  });
}
