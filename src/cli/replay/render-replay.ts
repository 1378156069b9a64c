import type { Replay } from "../../app/replay.ts";
import { formatTime } from "../../lib/time.ts";
import { berthVersion } from "../../lib/version.ts";
import { type Paint, printable } from "../output/colour.ts";

const mostChanges = 20;

export function renderReplay({ origin, count, difference }: Replay, paint: Paint): string {
  const source = `recorded by Berth ${printable(`${origin.berthVersion} on ${origin.nodeName}`)}, decided again by ${berthVersion}`;
  if (difference === undefined) {
    return `${count} ${count === 1 ? "decision" : "decisions"}, all the same; ${source}\n`;
  }
  const { position, pod, recorded, changes } = difference;
  const { kind, atMs } = recorded.decision;
  const { namespace, name, uid } = pod;
  const lines = [
    `decision ${position} of ${count} (line ${recorded.line}) is another one; ${source}`,
    `the ${kind} of pod ${printable(`${namespace}/${name} (${uid})`)}, decided at ${formatTime(atMs)}:`,
    ...changes
      .slice(0, mostChanges)
      .flatMap(({ path, before, now }) => [
        `  ${path === "" ? "outcome" : printable(path)}`,
        paint("red", `    recorded  ${valueText(before)}`),
        paint("green", `    now       ${valueText(now)}`),
      ]),
  ];
  const more = changes.length - mostChanges;
  if (more > 0) lines.push(`  and ${more} more`);
  return `${lines.join("\n")}\n`;
}

function valueText(value: unknown): string {
  return value === undefined ? "nothing" : printable(JSON.stringify(value));
}
