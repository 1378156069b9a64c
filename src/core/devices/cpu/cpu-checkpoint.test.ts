import { expect, test } from "vitest";
import { cpuCheckpointText, parseCpuCheckpoint } from "./cpu-checkpoint.ts";

const state = {
  shared: [0, 4, 5],
  assignments: new Map([
    [
      "uid",
      new Map([
        ["10", [1]],
        ["9", [2, 3]],
      ]),
    ],
  ]),
};

test("what is written is read again", () => {
  const text = cpuCheckpointText("static", state);
  expect(parseCpuCheckpoint(text, "static", new Map())).toEqual({ ok: true, value: state });
});

test("names that look like numbers are in the order of texts, as Go writes them", () => {
  expect(cpuCheckpointText("static", state)).toContain('"entries":{"uid":{"10":"1","9":"2-3"}}');
});

test("a file that was changed by hand is refused", () => {
  const text = cpuCheckpointText("static", state).replace("2-3", "2");
  expect(parseCpuCheckpoint(text, "static", new Map()).ok).toBe(false);
});

test("a file of an old kubelet names containers by their IDs", () => {
  const text = '{"policyName":"static","defaultCpuSet":"0","entries":{"id1":"1"},"checksum":0}';
  const containers = new Map([["id1", { podUid: "uid", container: "c" }]]);
  expect(parseCpuCheckpoint(text, "static", containers)).toEqual({
    ok: true,
    value: { shared: [0], assignments: new Map([["uid", new Map([["c", [1]]])]]) },
  });
});
