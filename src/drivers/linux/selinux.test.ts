import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isSelinuxEnabled, readSeLinuxContexts } from "./selinux.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "berth-selinux-"));
});

afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

describe("SELinux is", () => {
  test.each([
    ["enabled where its file system is mounted", "rw", "rw", true],
    ["disabled in a container that gets it read-only", "ro", "rw", false],
  ])("%s", (_, options, superOptions, expected) => {
    const line = `25 1 0:21 / /sys/fs/selinux ${options},relatime - selinuxfs selinuxfs ${superOptions}\n`;
    expect(isSelinuxEnabled(write("mountinfo", line))).toBe(expected);
  });

  test("disabled without its file system", () => {
    expect(isSelinuxEnabled(write("mountinfo", ""))).toBe(false);
  });
});

describe("the contexts of containers", () => {
  const policy = "# a comment\nSELINUX=enforcing\nSELINUXTYPE=targeted\n";
  const own = 'process = "u:r:own_t:s0"\nfile = "u:o:own_file_t:s0"\n';
  const common = 'process = "u:r:lxc_t:s0"\nfile="u:o:lxc_file_t:s0"\n;file="x"\n';

  test("are those of the node's policy", () => {
    write("etc/selinux/config", policy);
    write("etc/selinux/targeted/contexts/lxc_contexts", common);
    expect(readSeLinuxContexts(root)).toEqual({
      processContext: "u:r:lxc_t:s0",
      fileContext: "u:o:lxc_file_t:s0",
    });
  });

  test("are those of the container tools where they have a file of their own", () => {
    write("etc/selinux/config", policy);
    write("etc/selinux/targeted/contexts/lxc_contexts", common);
    write("usr/share/containers/selinux/contexts", own);
    expect(readSeLinuxContexts(root)).toEqual({
      processContext: "u:r:own_t:s0",
      fileContext: "u:o:own_file_t:s0",
    });
  });

  test("are empty where nothing names them", () => {
    expect(readSeLinuxContexts(root)).toEqual({ processContext: "", fileContext: "" });
  });
});
