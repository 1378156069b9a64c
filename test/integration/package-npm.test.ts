import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berthVersion } from "../../src/lib/version.ts";

let folder: string;
let installed: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-packages-"));
  makePackage("first");
  const prefix = join(folder, "prefix");
  const npm = ["install", "--global", "--offline", "--prefix", prefix, packageIn("first")];
  execFileSync("npm", npm);
  installed = join(prefix, "lib/node_modules/berth");
});
afterAll(() => rmSync(folder, { recursive: true }));

const packageIn = (out: string) => join(folder, out, `berth-${berthVersion}.tgz`);

function makePackage(out: string): void {
  const maker = ["tools/run.mjs", "tools/package/main.ts", "--out", join(folder, out), "npm"];
  execFileSync(process.execPath, maker);
}

function berth(...args: readonly string[]): string {
  return execFileSync(join(folder, "prefix/bin/berth"), args, { encoding: "utf8" });
}

test("the npm package installs a command that runs without the repository", () => {
  expect(berth("version")).toContain(`berth ${berthVersion} (commit `);
  expect(berth("version")).toContain("from the npm package");
  expect(berth("plan", "--help")).toContain("Usage: berth plan");
  // What is loaded only when it is needed was packed, too.
  expect(berth("kubelet", "--help")).toContain("--cert-dir");
  expect(berth("completion", "bash")).toContain("complete -F _berth berth");
});

test("the npm package runs nothing when it is installed, and needs no other package", () => {
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  for (const field of ["scripts", "dependencies", "private"]) {
    expect(manifest).not.toHaveProperty(field);
  }
});

test("the npm package holds the program, its manual and its licences, and no source", () => {
  const list = execFileSync("tar", ["-tzf", packageIn("first")], { encoding: "utf8" });
  const names = list.split("\n").filter((name) => name !== "" && !name.endsWith("/"));
  const kinds = new Set(names.map((name) => name.replace(/^package\/(?:(\w+)\/.*)?/, "$1")));
  expect([...kinds].toSorted()).toEqual(
    ["CHANGELOG.md", "LICENSE", "README.md", "THIRD-PARTY-LICENSES", "dist", "man"].concat([
      "package.json",
      "sbom.cdx.json",
    ]),
  );
  expect(names.filter((name) => /\.(ts|map)$/.test(name))).toEqual([]);
  const licences = readFileSync(join(installed, "THIRD-PARTY-LICENSES"), "utf8");
  const { components } = JSON.parse(readFileSync(join(installed, "sbom.cdx.json"), "utf8"));
  expect(components.map(({ name }: { readonly name: string }) => name)).toContain("@grpc/grpc-js");
  expect(licences).toContain("@grpc/grpc-js");
});

test("the npm package is the same when it is made again", () => {
  makePackage("second");
  expect(readFileSync(packageIn("second")).equals(readFileSync(packageIn("first")))).toBe(true);
});
