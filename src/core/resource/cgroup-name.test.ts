import { expect, test } from "vitest";
import { cgroupPath, parseCgroupPath, podUidOfCgroup, qosCgroupName } from "./cgroup-name.ts";

const root = ["kubepods"];

test("guaranteed pods lie directly under the root", () => {
  expect(qosCgroupName(root, "Guaranteed")).toEqual(["kubepods"]);
  expect(qosCgroupName(root, "BestEffort")).toEqual(["kubepods", "besteffort"]);
});

test.each([
  { name: ["kubepods", "pod1-2"], uid: "1-2" },
  { name: ["kubepods", "burstable", "pod1-2"], uid: "1-2" },
  { name: ["kubepods", "burstable"], uid: undefined },
  { name: ["kubepods"], uid: undefined },
  { name: ["kubepods", "burstable", "pod1", "container"], uid: undefined },
  { name: ["kubepods", "xpod1"], uid: undefined },
  { name: ["kubepods", "podpod1"], uid: undefined },
])("$name belongs to pod $uid", ({ name, uid }) => {
  expect(podUidOfCgroup(root, name)).toBe(uid);
});

test.each([[["a", ""]], [["", "a"]], [["a/b"]]])("systemd has no slice for %j", (name) => {
  expect(cgroupPath(name, "systemd")).toMatchObject({ ok: false });
});

test("the hierarchy's root is the empty name for one driver and a slash for the other", () => {
  expect(cgroupPath([], "cgroupfs")).toEqual({ ok: true, value: "/" });
  expect(cgroupPath([""], "systemd")).toEqual({ ok: true, value: "/" });
  expect(parseCgroupPath("/", "cgroupfs")).toEqual([]);
});
