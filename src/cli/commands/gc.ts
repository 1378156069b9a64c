import { sizeText } from "../../lib/size-text.ts";
import type { GcItem } from "../../model/gc-item.ts";
import type { Command } from "../command.ts";
import { agentClient, dataDirFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { painter } from "../output/colour.ts";
import { Table } from "../output/table.ts";

export const gcCommand: Command = defineCommand({
  name: "gc",
  usage: "gc [flags]",
  summary: "Remove what is no longer needed, or show what that is.",
  details:
    "The agent removes dead containers, unused images and what pods left by itself, when its policy says so. This\n" +
    "does it now; with --plan it only shows what would go and why. With --all everything unused goes, as\n" +
    "when the disk is full: also the containers of pods that have ended, with their logs, and every unused image.",
  examples: ["berth gc --plan", "berth gc --plan --all -o json", "berth gc --all"],
  flags: {
    plan: toggle("Only show what would go."),
    all: toggle("Everything unused, not only what goes by policy."),
    output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    const [surplus] = positionals;
    if (surplus !== undefined) throw usageError(`"${surplus}" is not expected here`);
    const client = agentClient(flags["data-dir"], terminal);
    const items = await client.listGarbage({ all: flags.all, remove: !flags.plan }, signal);
    if (flags.output === "json") {
      terminal.out(`${JSON.stringify({ items }, null, 4)}\n`);
    } else if (items.length === 0) {
      terminal.out(flags.plan ? "Nothing would go.\n" : "There was nothing to remove.\n");
    } else {
      const table = new Table(["KIND", "NAME", "SIZE", "WHY"], true, painter(terminal.colours));
      terminal.out(`${table.lines(items.map(row)).join("\n")}\n`);
    }
    return exitCodes.ok;
  },
});

function row({ kind, name, bytes, because }: GcItem): readonly string[] {
  return [kind, name, bytes === undefined ? "" : sizeText(bytes), because];
}
