import type { AdjustableLog } from "../ports/log.ts";
import { type Flag, text } from "./flags.ts";
import type { Terminal } from "./terminal.ts";

const levels = ["debug", "info", "warn", "error"] as const;

export const logLevelFlag: Flag & { readonly kind: "text" } = text(
  "LEVEL",
  "debug, info, warn or error (default info).",
  { choices: levels },
);

/** The log of a command that runs the agent: short lines for a person, JSON for a machine. */
export async function agentLog(
  flag: string | undefined,
  { stderr }: Terminal,
): Promise<AdjustableLog> {
  const { createProcessLog } = await import("../app/process-log.ts");
  const human = "isTTY" in stderr && stderr.isTTY === true;
  const level = levels.find((known) => known === flag) ?? "info";
  return createProcessLog(level, human);
}
