import { expect, test } from "vitest";
import { runningContainer } from "../../../test/kit/carry-out.ts";
import type { ObservedContainer } from "../../model/observed.ts";
import { isOvertaken } from "./overtaken.ts";

function instance(name: string, restartCount: number, state: ObservedContainer["state"]) {
  const id = `sim://${name}-${restartCount}`;
  return { ...runningContainer({ name, image: "web:1" }), id, restartCount, state };
}

test.each([
  { late: instance("web", 0, "created"), others: [instance("web", 1, "running")], is: true },
  { late: instance("web", 0, "created"), others: [instance("web", 1, "exited")], is: true },
  { late: instance("web", 2, "created"), others: [instance("web", 1, "running")], is: true },
  { late: instance("web", 2, "created"), others: [instance("web", 1, "exited")], is: false },
  { late: instance("web", 0, "created"), others: [instance("db", 1, "running")], is: false },
  { late: instance("web", 0, "exited"), others: [instance("web", 1, "running")], is: false },
])(
  "$late.name $late.restartCount, $late.state, beside $others.0.name $others.0.restartCount: $is",
  (row) => {
    expect(isOvertaken(row.late, [row.late, ...row.others])).toBe(row.is);
  },
);
