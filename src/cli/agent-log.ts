import type { AdjustableLog } from "../ports/log.ts";
import { type Flag, text } from "./flags.ts";
import { type Terminal, wantsColours } from "./terminal.ts";

const levels = ["debug", "info", "warn", "error"] as const;

export const logLevelFlag: Flag & { readonly kind: "text" } = text(
  "LEVEL",
  "debug, info, warn or error (default info).",
  { choices: levels },
);

export const logFormatFlag: Flag & { readonly kind: "text" } = text(
  "FORMAT",
  "text or json (default text on a terminal, else json).",
  { choices: ["text", "json"] },
);

/** As given. */
export interface LogChoice {
  readonly level: string | undefined;
  readonly format?: string | undefined;
}

/** The log of a command that runs the agent: short lines for a person, JSON for a machine. */
export async function agentLog(choice: LogChoice, terminal: Terminal): Promise<AdjustableLog> {
  const { createProcessLog } = await import("../app/process-log.ts");
  const level = levels.find((known) => known === choice.level) ?? "info";
  return createProcessLog({ level, format: logFormat(choice.format, terminal) });
}

export function logFormat(
  given: string | undefined,
  terminal: Terminal,
): "human" | "coloured" | "json" {
  const isRead = isPerson(terminal);
  if (given === "json" || (given === undefined && !isRead)) return "json";
  return wantsColours(terminal.environment, isRead) ? "coloured" : "human";
}

/** Whether a person reads the log as it is written. */
export function isPerson({ stderr }: Terminal): boolean {
  return "isTTY" in stderr && stderr.isTTY === true;
}
