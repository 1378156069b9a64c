// Manual pages, written from the table of commands.
import type { Command } from "../../src/cli/command.ts";
import { commandTable } from "../../src/cli/command-table.ts";
import { type Flag, takesNextWord } from "../../src/cli/flags.ts";
import { readManifest } from "./package-source.ts";

/** Each page by its file name. */
export function manPages(): ReadonlyMap<string, string> {
  return new Map([
    ["berth.1", overviewPage()],
    ...commandTable.map((command) => [`berth-${command.name}.1`, commandPage(command)] as const),
  ]);
}

function overviewPage(): string {
  return page("berth", "run Kubernetes pods on this machine", [
    section("SYNOPSIS", ["\\fBberth\\fR \\fICOMMAND\\fR [flags]"]),
    section("DESCRIPTION", [
      escaped(readManifest().description),
      ...commandTable.flatMap(({ name, summary }) => [
        ".TP",
        `\\fBberth\\-${escaped(name)}\\fR(1)`,
        escaped(summary),
      ]),
    ]),
    section("FILES", [
      ".TP",
      "\\fI/var/lib/berth\\fR",
      escaped("What the agent keeps, unless --data-dir or BERTH_DATA_DIR names another folder."),
    ]),
    section("ENVIRONMENT", [
      ".TP",
      "\\fBBERTH_DATA_DIR\\fR",
      "The folder of the agent's data.",
      ".TP",
      "\\fBNO_COLOR\\fR",
      "No colours.",
    ]),
    section("EXIT STATUS", [
      escaped(
        "0 done, 1 failed, 2 wrong usage, 3 the agent cannot be reached, 4 no such pod or container; exec exits as its command does.",
      ),
    ]),
  ]);
}

function commandPage({ name, usage, summary, details, examples, flags }: Command): string {
  const help: Flag = { kind: "toggle", short: "h", help: "Show this help." };
  const text = details === "" ? summary : `${summary}\n\n${details}`;
  return page(`berth-${name}`, summary.replace(/\.$/, ""), [
    section("SYNOPSIS", [`\\fBberth\\fR ${escaped(usage)}`]),
    section(
      "DESCRIPTION",
      text.split("\n").map((line) => (line === "" ? ".PP" : escaped(line))),
    ),
    section("OPTIONS", Object.entries({ ...flags, help }).flatMap(option)),
    section("EXAMPLES", [".EX", ...examples.map(escaped), ".EE"]),
    section("SEE ALSO", ["\\fBberth\\fR(1)"]),
  ]);
}

function option([name, flag]: readonly [string, Flag]): string[] {
  const short = flag.short === undefined ? "" : `\\fB\\-${flag.short}\\fR, `;
  const value = flag.kind === "toggle" ? "" : `\\fI${escaped(flag.value)}\\fR`;
  const shown = value === "" ? "" : takesNextWord(flag) ? ` ${value}` : `[=${value}]`;
  return [".TP", `${short}\\fB\\-\\-${escaped(name)}\\fR${shown}`, escaped(flag.help)];
}

function page(name: string, summary: string, sections: readonly string[]): string {
  const { version } = readManifest();
  return [
    `.TH ${escaped(name.toUpperCase())} 1 "" "Berth ${version}" "Berth"`,
    section("NAME", [`${escaped(name)} \\- ${escaped(summary)}`]),
    ...sections,
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[]): string {
  return [`.SH ${title}`, ...lines].join("\n");
}

/** Text for roff: no line of it is taken for a request, and dashes can be copied. */
function escaped(text: string): string {
  const safe = text.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return /^[.']/.test(safe) ? `\\&${safe}` : safe;
}
