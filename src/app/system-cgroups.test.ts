import { expect, test } from "vitest";
import { moveProcesses, requireSystemCgroups } from "./system-cgroups.ts";

test("the agent goes to its cgroup, and all processes of the root cgroup to the system's, though one has ended", () => {
  const moved: (readonly [string, number])[] = [];
  const cgroups = {
    listRootProcesses: () => [20, 21, 22],
    join: (path: string, pid: number) => {
      if (pid === 21) throw new Error("ESRCH: no such process");
      moved.push([path, pid]);
    },
  };
  const names = { kubeletCgroups: "/kubelet", systemCgroups: "/system" };
  expect(() => moveProcesses(names, cgroups)).toThrow("no such process");
  expect(moved).toEqual([
    ["/kubelet", process.pid],
    ["/system", 20],
    ["/system", 22],
  ]);
});

test("the system's cgroup cannot be the root", () => {
  expect(() => requireSystemCgroups({ kubeletCgroups: "", systemCgroups: "/" })).toThrow(
    'system container cannot be root ("/")',
  );
});
