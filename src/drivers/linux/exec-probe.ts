import { durationText, quoteText } from "../../lib/go-text.ts";
import { type ContainerId, rawContainerId } from "../../model/ids.ts";
import { RuntimeError, runtimeErrorText } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { ProbeOutcome } from "../../ports/probe-runner.ts";

export interface ExecProbeTarget {
  readonly containerId: ContainerId;
  readonly command: readonly string[];
}

const maxOutputBytes = 10 * 1024;

/** Runs a command in the container: its exit code is the answer. Rejects only when `signal` aborts. */
export async function runExecProbe(
  execSync: ContainerRuntime["execSync"],
  { containerId, command }: ExecProbeTarget,
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const id = rawContainerId(containerId);
  try {
    const { exitCode, stdout, stderr } = await execSync(id, command, timeoutSeconds, signal);
    const bytes = Buffer.concat([stdout ?? Buffer.of(), stderr ?? Buffer.of()]);
    const output = bytes.subarray(0, maxOutputBytes).toString();
    return { result: (exitCode ?? 0) === 0 ? "success" : "failure", output };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RuntimeError && error.code === "DeadlineExceeded") {
      const timedOut = `${quoteText(command.join(" "))} timed out after ${durationText(timeoutSeconds * 1000)}`;
      return { result: "failure", output: `command timed out: ${timedOut}` };
    }
    return { result: "error", state: "unknown", output: runtimeErrorText(error) };
  }
}
