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
  terminal: Terminal,
): Promise<AdjustableLog> {
  const { createProcessLog } = await import("../app/process-log.ts");
  const level = levels.find((known) => known === flag) ?? "info";
  return createProcessLog({ level, format: isPerson(terminal) ? "human" : "json" });
}

/** Whether a person reads the log as it is written. */
export function isPerson({ stderr }: Terminal): boolean {
  return "isTTY" in stderr && stderr.isTTY === true;
}
