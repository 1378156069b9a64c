import type { CisResult } from "../../config/cis/cis-facts.ts";
import { type Paint, printable } from "./colour.ts";
import { alignColumns } from "./table.ts";

const colours = { pass: "green", fail: "red", "not applicable": "dim" } as const;

/** A line of text per line of the benchmark, what to do below where there is something to do, and the sum. */
export function renderCis(results: readonly CisResult[], paint: Paint): string {
  const rows = alignColumns(
    results.map(({ status, id, title, found }) => [status, id, title, printable(found)]),
  );
  const lines = results.flatMap(({ status, fix }, index) => {
    const row = rows[index] ?? "";
    const painted = paint(colours[status], status) + row.slice(status.length);
    return fix === undefined ? [painted] : [painted, `${" ".repeat(17)}fix: ${printable(fix)}`];
  });
  const count = (status: CisResult["status"]): number =>
    results.filter((result) => result.status === status).length;
  const sum = `${count("pass")} passed, ${count("fail")} failed, ${count("not applicable")} not applicable.`;
  return `${lines.join("\n")}\n\nCIS Kubernetes Benchmark 1.12, section 4: ${sum}\n`;
}
