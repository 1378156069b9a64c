import { expect, test } from "vitest";
import { type LeftoverFacts, whatIsLeft } from "./pod-leftovers.ts";

const nothing: LeftoverFacts = {
  isWanted: false,
  workerState: undefined,
  isInRuntime: false,
  isBeingRead: false,
  isBeingReported: false,
  removal: "done",
  hasFiles: false,
  mayHaveMounts: false,
};

test("a pod whose removal is done and of which nothing is known may be forgotten", () => {
  expect(whatIsLeft(nothing)).toEqual([]);
});

test.each<[Partial<LeftoverFacts>, string]>([
  [{ isWanted: true }, "a source wants it"],
  [{ workerState: "terminating" }, "its worker is terminating"],
  [{ workerState: "finished" }, "its worker is finished"],
  [{ isInRuntime: true }, "the runtime has it"],
  [{ isBeingRead: true }, "it is being read from the runtime"],
  [{ isBeingReported: true }, "its status is being reported"],
  [{ removal: undefined }, "what it left is not removed yet"],
  [{ removal: "due" }, "what it left is not removed yet"],
  [{ removal: "running" }, "what it left is being removed"],
  [{ hasFiles: true }, "the agent keeps files about it"],
  [{ mayHaveMounts: true }, "a volume may be mounted for it"],
])("with %j alone a pod is remembered", (fact, reason) => {
  expect(whatIsLeft({ ...nothing, ...fact })).toEqual([reason]);
});

test("every reason is reported", () => {
  const facts = {
    isWanted: true,
    workerState: "syncing",
    isInRuntime: true,
    isBeingRead: true,
    isBeingReported: true,
    removal: undefined,
    hasFiles: true,
    mayHaveMounts: true,
  };
  expect(whatIsLeft(facts)).toHaveLength(8);
});
