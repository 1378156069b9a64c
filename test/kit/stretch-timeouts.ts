import { patience } from "./patience.ts";

// Tests name their limits where they wait; this is the one place that all of them pass.
if (patience !== 1) {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => timeout(ms * patience);
}
