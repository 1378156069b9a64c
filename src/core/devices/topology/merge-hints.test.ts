import { expect, test } from "vitest";
import { numaNodeChoices } from "./hints.ts";
import { mergeHints } from "./merge-hints.ts";

const any = { nodes: undefined, preferred: true };
const hint = (preferred: boolean, ...nodes: number[]) => ({ nodes, preferred });

test("the nodes that all hints share are preferred when all of them name the same", () => {
  const resources = [[hint(true, 1), hint(false, 0, 1)], [any], [hint(true, 0), hint(true, 1)]];
  expect(mergeHints({ nodes: [0, 1] }, resources)).toEqual(hint(true, 1));
});

test("without a preferred choice it is as many nodes as the widest resource needs", () => {
  const resources = [[hint(false, 0, 1), hint(false, 0, 1, 2)], [hint(false, 0, 1, 2)]];
  expect(mergeHints({ nodes: [0, 1, 2] }, resources)).toEqual(hint(false, 0, 1, 2));
});

test("of choices of as many nodes the closest are taken where distances count", () => {
  const distances = new Map([
    [0, [10, 30, 20]],
    [1, [30, 10, 30]],
    [2, [20, 30, 10]],
  ]);
  const resources = [[hint(true, 0, 1), hint(true, 0, 2)]];
  expect(mergeHints({ nodes: [0, 1, 2], distances }, resources)).toEqual(hint(true, 0, 2));
  expect(mergeHints({ nodes: [0, 1, 2] }, resources)).toEqual(hint(true, 0, 1));
});

test("hints of no resource share a node: any node, not preferred", () => {
  expect(mergeHints({ nodes: [0, 1] }, [[hint(true, 0)], [hint(true, 1)]])).toEqual(
    hint(false, 0, 1),
  );
});

test("eight nodes and six resources are merged although there are 255^6 combinations", () => {
  const nodes = [0, 1, 2, 3, 4, 5, 6, 7];
  const all = [...numaNodeChoices(nodes)].map((choice) => ({
    nodes: choice,
    preferred: choice.length === 2,
  }));
  expect(mergeHints({ nodes }, [all, all, all, all, all, all])).toEqual(hint(true, 0, 1));
});
