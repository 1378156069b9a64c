import { expect, test } from "vitest";
import { parseCpuTopology } from "./cpu-topology.ts";

function processor(number: number, socket: number, core: number): string {
  return `processor\t: ${number}\nphysical id\t: ${socket}\ncore id\t\t: ${core}\nflags\t: fpu`;
}

test("threads of one core count once, sockets by their numbers", () => {
  const text = [processor(0, 0, 0), processor(1, 0, 0), processor(2, 0, 1), processor(3, 1, 0)];
  expect(parseCpuTopology(`${text.join("\n\n")}\n\n`)).toEqual({ physicalCpus: 3, sockets: 2 });
});

test("a machine that does not report cores has one per processor", () => {
  const text = "processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n";
  expect(parseCpuTopology(text)).toEqual({ physicalCpus: 2, sockets: 1 });
});
