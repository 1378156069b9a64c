import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { PodTable } from "./pod-table.ts";

const pod = testPod({ containers: [{ name: "web" }] });
const { uid } = pod.metadata;

test("a slice that is set makes the pod's entry, and everybody can read it there", () => {
  const table = new PodTable();
  const writer = table.writer("wanted");
  expect(table.get(uid)).toBeUndefined();
  writer.set(uid, pod);
  expect(table.get(uid)?.wanted).toBe(pod);
  expect([...table.all()].map((each) => each.uid)).toEqual([uid]);
  expect([...writer.entries()]).toEqual([[uid, pod]]);
});

test("taking a slice away makes no entry", () => {
  const table = new PodTable();
  table.writer("wanted").set(uid, undefined);
  expect(table.get(uid)).toBeUndefined();
});

test("a slice has one writer", () => {
  const table = new PodTable();
  table.writer("wanted");
  expect(() => table.writer("wanted")).toThrow("the slice wanted has a writer already");
});

test("nothing of a deleted pod is left, and one that comes back begins again", () => {
  const table = new PodTable();
  const writer = table.writer("wanted");
  writer.set(uid, pod);
  table.delete(uid);
  expect(table.get(uid)).toBeUndefined();
  expect(writer.get(uid)).toBeUndefined();
  writer.set(uid, pod);
  expect(table.get(uid)).toEqual({ uid, wanted: pod });
});
