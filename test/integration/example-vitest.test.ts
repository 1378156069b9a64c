import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berthVersion } from "../../src/lib/version.ts";
import { startRuntimeWorld } from "./support/runtime-world.ts";

const repository = join(import.meta.dirname, "../..");

let folder: string;
let project: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-example-"));
  const maker = ["tools/run.mjs", "tools/package/main.ts", "--out", folder, "npm"];
  execFileSync(process.execPath, maker, { cwd: repository });
  project = join(folder, "project");
  cpSync(join(repository, "examples/vitest"), project, { recursive: true });
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, "berth"), { recursive: true });
  // What npm install makes of the two packages, without a registry.
  const archive = join(folder, `berth-${berthVersion}.tgz`);
  const unpack = ["-xzf", archive, "--strip-components=1", "-C", join(modules, "berth")];
  execFileSync("tar", unpack);
  symlinkSync(join(repository, "node_modules/vitest"), join(modules, "vitest"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function runSuite(script: string, environment: Readonly<Record<string, string>> = {}) {
  const { scripts } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
  const [, ...args] = String(scripts[script]).split(" ");
  const program = join(dirname(createRequire(import.meta.url).resolve("vitest")), "vitest.mjs");
  const child = spawn(process.execPath, [program, ...args, "--no-color"], {
    cwd: project,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], ...environment },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, "close");
  return { code: Number(code), output };
}

test("the example's suite passes on a simulated node", async () => {
  const { code, output } = await runSuite("test");
  expect(output).toContain("2 passed");
  expect(code).toBe(0);
});

test("the example's suite passes on real containers", async () => {
  const world = await startRuntimeWorld({ network: 46 });
  try {
    const { endpoint } = world.containerd;
    const { code, output } = await runSuite("test:real", { CRI_ENDPOINT: endpoint });
    expect(output).toContain("3 passed");
    expect(code).toBe(0);
  } finally {
    await world.close();
  }
});
