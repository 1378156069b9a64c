import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { kubeletKernelSettings } from "../core/node/kernel-settings.ts";
import { kernelSettingFiles } from "../drivers/linux/kernel-setting-files.ts";
import type { Log } from "../ports/log.ts";
import { applyKernelSettings } from "./kernel-settings.ts";

let root: string;
let lines: string[];
const note = (message: string, fields: object = {}): void => {
  lines.push(`${message} ${JSON.stringify(fields)}`);
};
const log: Log = { debug: note, info: note, warn: note, error: note };

beforeEach(() => {
  lines = [];
  root = mkdtempSync(join(tmpdir(), "berth-kernel-"));
  for (const { name, value } of kubeletKernelSettings) put(name, `${value}\n`);
});
afterEach(() => rmSync(root, { recursive: true }));

function path(name: string): string {
  return join(root, name.replaceAll(".", "/"));
}

function put(name: string, text: string): void {
  mkdirSync(dirname(path(name)), { recursive: true });
  writeFileSync(path(name), text);
}

function get(name: string): string {
  return readFileSync(path(name), "utf8").trim();
}

function apply(policy: { protects: boolean; inUserNamespace?: boolean }): Promise<void> {
  return applyKernelSettings({ inUserNamespace: false, ...policy }, kernelSettingFiles(root), log);
}

test("settings that differ are set, and each change is logged", async () => {
  put("vm.overcommit_memory", "0\n");
  put("kernel.panic", "\t0\n");
  await apply({ protects: false });
  expect(kubeletKernelSettings.map(({ name }) => get(name))).toEqual(
    kubeletKernelSettings.map(({ value }) => String(value)),
  );
  expect(lines).toEqual([
    'changed a kernel setting {"name":"vm.overcommit_memory","from":"0","to":1}',
    'changed a kernel setting {"name":"kernel.panic","from":"0","to":10}',
  ]);
});

test("with protectKernelDefaults nothing is changed, and every difference is named with its file and remedy", async () => {
  put("vm.overcommit_memory", "2\n");
  put("kernel.keys.root_maxkeys", "200\n");
  await expect(apply({ protects: true })).rejects.toThrow(
    [
      `\n  ${root}/vm/overcommit_memory is 2, wanted 1: sysctl -w vm.overcommit_memory=1`,
      `  ${root}/kernel/keys/root_maxkeys is 200, wanted 1000000: sysctl -w kernel.keys.root_maxkeys=1000000`,
    ].join("\n"),
  );
  expect(get("vm.overcommit_memory")).toBe("2");
  expect(get("kernel.keys.root_maxkeys")).toBe("200");
  expect(lines).toEqual([]);
});

test.each([true, false])("settings as wanted are left alone (protects: %s)", async (protects) => {
  await apply({ protects });
  expect(lines).toEqual([]);
});

test.each(["", "1x", "one"])("%j is not a wanted value of 1", async (text) => {
  put("kernel.panic_on_oops", text);
  await expect(apply({ protects: true })).rejects.toThrow("kernel/panic_on_oops");
});

test("a setting that cannot be read or set keeps the agent from starting, by name", async () => {
  rmSync(path("vm.panic_on_oom"));
  mkdirSync(path("vm.panic_on_oom"));
  await expect(apply({ protects: true })).rejects.toThrow(/vm\/panic_on_oom is EISDIR/);
  await expect(apply({ protects: false })).rejects.toThrow(/vm\/panic_on_oom to 0 \(EISDIR/);
});

test("in a user namespace a setting that cannot be set is only logged, and the others are set", async () => {
  put("kernel.panic", "0\n");
  rmSync(path("vm.panic_on_oom"));
  mkdirSync(path("vm.panic_on_oom"));
  await apply({ protects: false, inUserNamespace: true });
  expect(get("kernel.panic")).toBe("10");
  expect(lines).toContainEqual(expect.stringContaining("cannot change a kernel setting"));
});
