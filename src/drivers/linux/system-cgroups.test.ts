import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SystemCgroups } from "./system-cgroups.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-cgroups-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function read(path: string): string {
  return readFileSync(join(folder, path), "utf8");
}

test("a process joins the cgroup in every hierarchy but systemd's", () => {
  write("cpu/kubelet/cgroup.procs", "");
  write("memory/kubelet/cgroup.procs", "7\n");
  const names = ["cpu", "cpuacct", "memory", "systemd"] as const;
  const place = (name: string) => join(folder, name === "cpuacct" ? "cpu" : name);
  const v1 = new Map(names.map((name) => [name, place(name)]));
  new SystemCgroups({ v1, v2: undefined }).join("/kubelet", 7);
  expect(read("cpu/kubelet/cgroup.procs")).toBe("7\n");
  expect(read("memory/kubelet/cgroup.procs")).toBe("7\n");
});

test("processes of the root cgroup are listed without the first one and threads of the kernel", () => {
  write("unified/cgroup.procs", "1\n2\n30\n40\n");
  write("proc/2/cmdline", "");
  write("proc/30/cmdline", "sshd\0");
  const cgroups = new SystemCgroups(
    { v1: new Map(), v2: join(folder, "unified") },
    join(folder, "proc"),
  );
  expect(cgroups.listRootProcesses()).toEqual([30]);
});
