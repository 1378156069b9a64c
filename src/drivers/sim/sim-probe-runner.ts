import { rawContainerId } from "../../model/ids.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { ProbeOutcome, ProbeRunner } from "../../ports/probe-runner.ts";

const defaultTimeoutSeconds = 1;

/** Probes of simulated containers: commands run in them; to everything else a container that runs answers. */
export function createSimProbeRunner(runtime: Pick<ContainerRuntime, "execSync">): ProbeRunner {
  return {
    run: async ({ probe, containerId }, signal): Promise<ProbeOutcome> => {
      const command = probe.exec?.command ?? ["exit", "0"];
      const timeoutSeconds = probe.timeoutSeconds ?? defaultTimeoutSeconds;
      const id = rawContainerId(containerId);
      try {
        const { exitCode = 0 } = await runtime.execSync(id, command, timeoutSeconds, signal);
        return { result: exitCode === 0 ? "success" : "failure", output: "" };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RuntimeError)) throw error;
        const isLate = error.code === "DeadlineExceeded";
        if (isLate) return { result: "failure", output: error.message };
        return { result: "error", state: "unknown", output: error.message };
      }
    },
  };
}
