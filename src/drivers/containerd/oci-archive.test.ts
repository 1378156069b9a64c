import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { ociArchive } from "./oci-archive.ts";
import { isStaticProgram } from "./static-program.ts";
import { tarArchive } from "./tar-archive.ts";

const IMAGE = {
  names: ["example.com/a:1", "example.com/a:2"],
  files: [
    { kind: "folder", path: "bin/", mode: 0o755 },
    { kind: "file", path: "bin/x", mode: 0o755, data: Buffer.from("program") },
    { kind: "link", path: "bin/y", target: "x" },
  ],
  config: { Entrypoint: ["/bin/x"] },
} as const;

function tar(args: readonly string[], archive: Buffer): string {
  return execFileSync("tar", args, { input: archive, encoding: "utf8" });
}

test("an archive is what tar reads", () => {
  const archive = tarArchive(IMAGE.files);
  expect(tar(["-tf", "-"], archive)).toBe("bin/\nbin/x\nbin/y\n");
  expect(tar(["-xOf", "-", "bin/x"], archive)).toBe("program");
  expect(tar(["-tvf", "-", "bin/y"], archive)).toContain("bin/y -> x");
});

test("an image's index names every reference and leads to its blobs", () => {
  const archive = ociArchive(IMAGE);
  const names = tar(["-tf", "-"], archive);
  const index = JSON.parse(tar(["-xOf", "-", "index.json"], archive));
  expect(JSON.stringify(index)).toContain("example.com/a:2");
  const digests = JSON.stringify(index).match(/sha256:[0-9a-f]{64}/g) ?? [];
  expect(new Set(digests).size).toBe(1);
  expect(names).toContain(`blobs/${String(digests[0]).replace(":", "/")}`);
});

test("the same image is the same bytes", () => {
  expect(ociArchive(IMAGE).equals(ociArchive(IMAGE))).toBe(true);
});

test("a path that a header cannot hold is refused", () => {
  const files = [{ kind: "folder", path: "x".repeat(101), mode: 0o755 }] as const;
  expect(() => tarArchive(files)).toThrow("too long for a tar header");
});

test("a program is static only when nothing has to load it", () => {
  const program = Buffer.alloc(128);
  program.writeUInt32BE(0x7f454c46, 0);
  program.set([2, 1], 4);
  program.writeBigUInt64LE(64n, 32);
  program.writeUInt16LE(56, 54);
  program.writeUInt16LE(1, 56);
  expect(isStaticProgram(program)).toBe(true);
  program.writeUInt32LE(3, 64);
  expect(isStaticProgram(program)).toBe(false);
  expect(isStaticProgram(Buffer.from("#!/bin/sh"))).toBe(false);
});
