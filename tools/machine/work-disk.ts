// The disk with this repository as it is now, built: what the machine runs.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDisk } from "./guest-image.ts";

const diskBytes = "2G";
const sources = ["src", "test", "tools", "examples", "dist", "package.json", "vitest.config.ts"];

/** Tools that no test runs, and that are most of what is installed. */
const leftOut = new Set(
  [
    ["@biomejs", "@bufbuild/buf-linux-x64", "@typescript", "typescript", "@oxlint", "oxlint"],
    ["@oxlint-tsgolint", "oxlint-tsgolint", "recheck", "recheck-jar", "recheck-linux-x64"],
    ["dprint-node", "knip", ".cache"],
  ].flat(),
);

/** Written to `to`; gone with the folder it lies in. */
export function makeWorkDisk(repository: string, to: string): void {
  const staged = mkdtempSync(join(tmpdir(), "berth-work-disk-"));
  try {
    const modules = join(staged, "node_modules");
    mkdirSync(modules);
    copy(
      sources.map((name) => join(repository, name)),
      staged,
    );
    const names = readdirSync(join(repository, "node_modules"));
    const wanted = names.filter((name) => !leftOut.has(name));
    copy(
      wanted.map((name) => join(repository, "node_modules", name)),
      modules,
    );
    for (const name of leftOut) rmSync(join(modules, name), { recursive: true, force: true });
    makeDisk({ from: staged, label: "work", size: diskBytes, to });
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function copy(paths: readonly string[], to: string): void {
  execFileSync("cp", ["-a", "--reflink=auto", ...paths, to]);
}
