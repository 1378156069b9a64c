import { setTimeout as delay } from "node:timers/promises";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";

const RETRY_MS = 25;

/** Resolves once the runtime answers; rejects with its last words when it does not within `timeoutMs`. */
export async function waitForRuntime(
  runtime: Pick<ContainerRuntime, "status">,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      await runtime.status(false, signal);
      return;
    } catch (error) {
      const mayCome = error instanceof RuntimeError && error.code !== "Unimplemented";
      if (signal.aborted || !mayCome || Date.now() > deadline) throw error;
    }
    await delay(RETRY_MS, undefined, { signal });
  }
}
