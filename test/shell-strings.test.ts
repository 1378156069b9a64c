import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { lintConfig } from "../tools/generate/lint-config.ts";

/** A shell's script has to be one literal, so that no name of a pod, image or path becomes part of it. */
const rules: readonly { readonly because: string; readonly pattern: RegExp }[] = [
  {
    because: "it imports what hands a text to a shell",
    pattern:
      /import\s*(?:\*|(?!type\s*\{)\w+\s*,?|\{[^}]*\bexec(?:Sync)?\b[^}]*\})[^;]*"(?:node:)?child_process"/,
  },
  {
    because: "it has a program started by a shell",
    pattern: /\bshell\s*:(?!\s*(?:false|undefined)\b)/,
  },
  {
    because: "a shell's script is not one literal",
    pattern: /"-c",(?!\s*(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')\s*[,\]])/,
  },
];

function problemsOf(text: string): readonly string[] {
  return rules.filter(({ pattern }) => pattern.test(text)).map(({ because }) => because);
}

describe("a program is started with an array of arguments", () => {
  test("everywhere in src", () => {
    const files = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !/\.test\.ts$|generated\//.test(path))
      .map((path) => ({ path, text: readFileSync(join("src", path), "utf8") }))
      .filter(({ text }) => text.includes("child_process") || text.includes('"-c"'));
    expect(files.length).toBeGreaterThan(5);
    const found = files.flatMap(({ path, text }) =>
      problemsOf(text).map((why) => `${path}: ${why}`),
    );
    expect(found).toEqual([]);
  });

  test.each([
    'import { exec } from "node:child_process";',
    'import { spawn, execSync } from "node:child_process";',
    'import * as processes from "node:child_process";',
    'import processes from "child_process";',
    'spawn("mount", [path], { shell: true });',
    'spawn("mount", [path], { shell: "/bin/bash" });',
    'spawn("sh", ["-c", `mount ${path}`]);',
    'spawn("sh", ["-c", "mount " + path]);',
  ])("and this is found: %s", (text) => {
    expect(problemsOf(text)).toHaveLength(1);
  });

  test.each([
    'import { execFile } from "node:child_process";',
    'import { type ChildProcess, spawn } from "node:child_process";',
    'import type { ChildProcess } from "node:child_process";',
    'spawn("sh", ["-c", "echo held && exec cat"]);',
    `spawn("sh", ["-c", 'exec "$0" "$@"', path]);`,
  ])("and this is not: %s", (text) => {
    expect(problemsOf(text)).toEqual([]);
  });

  test("and lint says so for every layer", () => {
    const { overrides } = JSON.parse(lintConfig()) as {
      readonly overrides: readonly { readonly files: readonly string[]; readonly rules: object }[];
    };
    const layers = overrides.filter(
      ({ files, rules: found }) =>
        files[0]?.startsWith("src/") === true && "no-restricted-imports" in found,
    );
    expect(layers.length).toBeGreaterThan(8);
    for (const { rules: found } of layers) {
      expect(JSON.stringify(found)).toContain('"importNames":["exec","execSync","default"]');
    }
  });
});
