// What all packages are made from: this repository, and how they are made the same twice.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";

declare const BERTH_REPOSITORY: string;

export interface PackageJob {
  /** Empty: for what goes into the package. */
  readonly folder: string;
  /** Where the package goes. */
  readonly out: string;
  /** The one time that all files of a package have. */
  readonly modifiedSeconds: number;
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
}

export const repository: string = BERTH_REPOSITORY;

export function readRepositoryFile(path: string): string {
  return readFileSync(join(repository, path), "utf8");
}

export function readManifest(): Manifest {
  return JSON.parse(readRepositoryFile("package.json"));
}

/** The time of the last commit: building it again later gives the same bytes. */
export function lastCommitSeconds(): number {
  const seconds = Number(runTool("git", ["-C", repository, "log", "-1", "--format=%ct"]).trim());
  if (!Number.isSafeInteger(seconds)) throw new Error("packages are made from a clone with git");
  return seconds;
}

/** Runs a program; throws with what it wrote. */
export function runTool(
  program: string,
  args: readonly string[],
  env = {},
  cwd: string = repository,
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8", ...env },
    maxBuffer: 64 * 2 ** 20,
  });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`);
}

/** The files of a folder and of those in it, sorted. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
}

/** Writes a file of the package with the folders above it. */
export function putFile(path: string, content: string | Uint8Array, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** Gives everything below the same time and no rights that depend on who builds. */
export function settle(folder: string, modifiedSeconds: number): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const entry = lstatSync(path);
    if (entry.isSymbolicLink()) continue;
    if (entry.isDirectory()) settle(path, modifiedSeconds);
    else chmodSync(path, (entry.mode & 0o100) === 0 ? 0o644 : 0o755);
    utimesSync(path, modifiedSeconds, modifiedSeconds);
  }
  chmodSync(folder, 0o755);
  utimesSync(folder, modifiedSeconds, modifiedSeconds);
}
