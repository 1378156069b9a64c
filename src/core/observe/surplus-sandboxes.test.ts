import { expect, test } from "vitest";
import {
  emptyObservedPod,
  type ObservedContainer,
  type ObservedSandbox,
} from "../../model/observed.ts";
import { surplusSandboxes } from "./surplus-sandboxes.ts";

function sandbox(id: string, state: ObservedSandbox["state"] = "ready"): ObservedSandbox {
  return { id, state, attempt: 0, createdAtMs: 0, network: "pod" };
}

function container(sandboxId: string, state: ObservedContainer["state"]): ObservedContainer {
  const image = { image: "i", imageId: "i", imageRef: "i" };
  const rest = { exitCode: 0, hash: "", restartCount: 0, reason: "", message: "", ...image };
  return { id: `c://${sandboxId}`, name: "main", state, sandboxId, ...rest };
}

const none = emptyObservedPod("uid", "web", "default");

test.each([
  {
    title: "an empty one beside the one in use",
    sandboxes: [sandbox("late"), sandbox("used")],
    containers: [container("used", "running"), container("late", "exited")],
    surplus: ["late"],
  },
  {
    title: "none of several that are empty: which one the pod will run in is not decided",
    sandboxes: [sandbox("one"), sandbox("two")],
    containers: [],
    surplus: [],
  },
  {
    title: "none of several in use",
    sandboxes: [sandbox("one"), sandbox("two")],
    containers: [container("one", "running"), container("two", "created")],
    surplus: [],
  },
  {
    title: "none that is not ready",
    sandboxes: [sandbox("old", "notReady"), sandbox("used")],
    containers: [container("used", "running")],
    surplus: [],
  },
])("$title", ({ sandboxes, containers, surplus }) => {
  expect(surplusSandboxes({ ...none, sandboxes, containers }).map(({ id }) => id)).toEqual(surplus);
});
