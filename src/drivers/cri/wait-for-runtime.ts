import { SetupError } from "../../lib/setup-error.ts";
import { sleep } from "../../lib/timers.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";

const RETRY_MS = 25;

/** Resolves once the runtime answers; throws, with its last words, when it does not within `timeoutMs`. */
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
      if (signal.aborted || !(error instanceof RuntimeError)) throw error;
      if (error.code === "Unimplemented") throw withoutCri(error);
      if (Date.now() > deadline) throw withoutAnswer(error);
    }
    await sleep(RETRY_MS, signal);
  }
}

// As packaged with Docker, for one, containerd runs with its CRI turned off.
function withoutCri(cause: RuntimeError): SetupError {
  return new SetupError(
    `the runtime does not serve the CRI v1 (${cause.message})`,
    "turn it on; for containerd, take cri out of disabled_plugins in its config.toml",
    { cause },
  );
}

function withoutAnswer(cause: RuntimeError): SetupError {
  return new SetupError(
    `the runtime does not answer (${cause.message})`,
    "check that it runs and that the runtime endpoint is its socket",
    { cause },
  );
}
