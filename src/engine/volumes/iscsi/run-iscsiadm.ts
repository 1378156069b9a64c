import type { DiskVolumeDeps } from "../disk-volume.ts";
import { type CommandOutcome, runCommand } from "../run-command.ts";

/** A login to a target that does not answer is tried for two minutes by iscsiadm itself. */
const timeoutMs = 180_000;

export function runIscsiadm(
  { commands }: DiskVolumeDeps,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<CommandOutcome> {
  return runCommand(commands, argv, signal, timeoutMs);
}
