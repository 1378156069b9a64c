import type { Command } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { painter } from "../output/colour.ts";
import { renderReplay } from "../replay/render-replay.ts";

const usage = "replay FILE";
/** The file is not a recording that this Berth can read. */
const unreadable = 2;

export const replayCommand: Command = defineCommand({
  name: "replay",
  usage,
  summary: "Decide again what a recording holds, and show the first difference.",
  details:
    "A recording comes from `berth why --recording`. It holds what was decided and all that it was decided\n" +
    "from, so that any Berth can decide it again. Needs neither the agent nor root. Exit code 0: everything is\n" +
    "decided as it was; 1: the first difference is shown; 2: the file is not a readable recording.",
  examples: ["berth why web --recording > web.jsonl", "berth replay web.jsonl"],
  flags: {},
  run: async ({ positionals, terminal }) => {
    const [path, surplus] = positionals;
    if (path === undefined) throw usageError(`the file is missing: berth ${usage}`);
    if (surplus !== undefined) throw usageError(`unexpected argument "${surplus}": berth ${usage}`);
    const { replayFile } = await import("../../app/replay.ts");
    const replay = replayFile(path);
    const paint = painter(terminal.colours);
    if (!replay.ok) {
      terminal.note(`${paint("red", "berth:")} ${replay.error}`);
      return unreadable;
    }
    terminal.out(renderReplay(replay.value, paint));
    return replay.value.difference === undefined ? exitCodes.ok : exitCodes.failed;
  },
});
