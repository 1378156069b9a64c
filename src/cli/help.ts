import type { Command } from "./command.ts";
import { type Flag, takesNextWord } from "./flags.ts";
import { alignColumns } from "./output/table.ts";

/** The overview: every command in a line. */
export function overviewHelp(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }) => [`  ${name}`, summary]);
  return [
    "Berth runs Kubernetes pods on this machine.",
    "",
    "Usage: berth COMMAND [flags]",
    "",
    "Commands:",
    alignColumns(rows).join("\n"),
    "",
    "Run berth COMMAND --help for more about a command.",
    "",
  ].join("\n");
}

export function commandHelp({ usage, summary, details, examples, flags }: Command): string {
  const rows = Object.entries(flags).map(([name, flag]) => [flagColumn(name, flag), flag.help]);
  rows.push(["  -h, --help", "Show this help."]);
  return [
    summary,
    ...(details === "" ? [] : ["", details]),
    "",
    `Usage: berth ${usage}`,
    "",
    "Examples:",
    ...examples.map((example) => `  ${example}`),
    "",
    "Flags:",
    ...alignColumns(rows),
    "",
  ].join("\n");
}

function valueColumn(flag: Flag): string {
  if (flag.kind === "toggle") return flag.isOn === true ? "=false" : "";
  return takesNextWord(flag) ? ` ${flag.value}` : `[=${flag.value}]`;
}

function flagColumn(name: string, flag: Flag): string {
  const short = flag.short === undefined ? "    " : `-${flag.short}, `;
  return `  ${short}--${name}${valueColumn(flag)}`;
}
