import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { berthVersion } from "../../src/lib/version.ts";
import { newerNode } from "../../tools/newer-node.mjs";
import { DebianRoot, packageSuite } from "./support/debian-root.ts";
import { PackagedAgent } from "./support/packaged-agent.ts";

/** The clean Debian is made only once on a machine. */
const firstTimeMs = 1_200_000;

const repository = join(import.meta.dirname, "../..");
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
      "types",
    ]),
  );
  expect(names.filter((name) => /(?<!\.d)\.ts$|\.map$/.test(name))).toEqual([]);
  // The page, also compressed.
  expect(names).toContain("package/dist/ui/index.html.gz");
  expect(names.filter((name) => /\/ui\/assets\/main-\w+\.js(\.gz)?$/.test(name))).toHaveLength(2);
  const licences = readFileSync(join(installed, "THIRD-PARTY-LICENSES"), "utf8");
  const { components } = JSON.parse(readFileSync(join(installed, "sbom.cdx.json"), "utf8"));
  expect(components.map(({ name }: { readonly name: string }) => name)).toContain("@grpc/grpc-js");
  expect(licences).toContain("@grpc/grpc-js");
  expect(licences).toContain("preact");
});

describe("the library", () => {
  let project: string;
  beforeAll(() => {
    project = join(folder, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "uses", type: "module" }));
    const npm = ["install", "--offline", "--no-audit", "--no-fund", packageIn("first")];
    execFileSync("npm", npm, { cwd: project });
    // As every project that runs on Node has them.
    mkdirSync(join(project, "node_modules/@types"));
    for (const name of ["@types/node", "undici-types"]) {
      symlinkSync(join(repository, "node_modules", name), join(project, "node_modules", name));
    }
  });

  function compile(program: string): { readonly code: number | null; readonly text: string } {
    writeFileSync(join(project, "program.ts"), program);
    const flags = ["--strict", "--target", "es2023", "--module", "nodenext"];
    const checks = ["--lib", "es2023,esnext.disposable", "--types", "node"];
    const compiler = join(repository, "node_modules/typescript/bin/tsc");
    const args = [compiler, ...flags, ...checks, "--outDir", "out", "program.ts"];
    const { status, stdout } = spawnSync(process.execPath, args, {
      cwd: project,
      encoding: "utf8",
    });
    return { code: status, text: stdout };
  }

  const run = () =>
    execFileSync(process.execPath, ["out/program.js"], { cwd: project, encoding: "utf8" });

  test("is typed, and runs pods from where it is installed", () => {
    const program = `
import { type BerthNode, createNode, type PodManifest, PodWaitError } from "berth";
import { isAccepted, planOn } from "berth/plan";

const job: PodManifest = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "job", annotations: { "sim.berth.dev/main": "run 5s, exit 3" } },
  spec: { restartPolicy: "Never", containers: [{ name: "main", image: "app.test/job:1" }] },
};
const node: BerthNode = await createNode({ kind: "simulated", nodeName: "n1", speed: 50 });
try {
  const [pod] = await node.apply(job);
  const error: unknown = await pod?.waitFor("succeeded").catch((reason: unknown) => reason);
  console.log(error instanceof PodWaitError && error.pod?.status?.phase);
} finally {
  await node.stop();
}
const target = { node: { metadata: { name: "n1" }, status: { allocatable: { pods: "1" } } } };
console.log(isAccepted(planOn(target, [{ path: "job.json", text: JSON.stringify(job) }])));
`;
    expect(compile(program)).toEqual({ code: 0, text: "" });
    expect(run()).toBe("Failed\ntrue\n");
  });

  test("does what its documentation shows", () => {
    const page = readFileSync(join(repository, "docs/library.md"), "utf8");
    const [, example = ""] = /```ts\n(import \{ createNode \}[\s\S]*?)```/.exec(page) ?? [];
    expect(compile(example)).toEqual({ code: 0, text: "" });
    expect(run()).toBe("run 1: run 30s, exit 1\nends with exit code 1 (Error)\n\n");
  });

  test("refuses to compile what it does not have", () => {
    const wrong = 'import { createNode } from "berth";\nawait createNode({ kind: "imaginary" });\n';
    expect(compile(wrong).text).toContain('"imaginary"');
    const hidden =
      'import { createAgent } from "berth/dist/parts/create-agent.js";\ncreateAgent();\n';
    expect(compile(hidden).text).toContain("error TS");
  });
});

test(
  "the npm package runs pods on a clean Debian that has a Node, and leaves nothing",
  async () => {
    const root = await DebianRoot.make(packageSuite());
    try {
      root.copy(newerNode(), "/usr/local/bin/node");
      // As npm has put it there: a folder, and a link to its program.
      root.copy(join(folder, "prefix"), "/usr/local");
      const packaged = new PackagedAgent(root, "/pods");
      expect(await packaged.succeed("berth", "version")).toContain("from the npm package");
      await packaged.start();
      const web = await packaged.runPod("web");
      expect(await packaged.succeed("berth", "logs", web)).toBe("started\n");
      await packaged.stop();
      await packaged.succeed("berth", "down");
      expect((await root.run("pgrep", "--full", "containerd|sleep")).stdout).toBe("");
    } finally {
      await root.close();
    }
  },
  firstTimeMs,
);

test("the npm package is the same when it is made again", () => {
  makePackage("second");
  expect(readFileSync(packageIn("second")).equals(readFileSync(packageIn("first")))).toBe(true);
});
