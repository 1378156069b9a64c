import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { shell, untilStopped } from "./support/agent-manifests.ts";
import { BerthProcess } from "./support/agent-process.ts";
import { DebianRoot, packageSuite } from "./support/debian-root.ts";
import { PackagedAgent } from "./support/packaged-agent.ts";

/** The clean Debian is made only once on a machine. */
const firstTimeMs = 1_200_000;
const program = "/usr/local/bin/berth";
let folder: string;
let executable: string;
let root: DebianRoot;
let agent: BerthProcess | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-packages-"));
  executable = makeExecutable("first");
  root = await DebianRoot.make(packageSuite());
  root.copy(executable, program);
}, firstTimeMs);
afterEach(async () => {
  await agent?.stop("SIGKILL");
});
afterAll(async () => {
  await root?.close();
  rmSync(folder, { recursive: true });
});

function makeExecutable(name: string): string {
  const out = join(folder, name);
  execFileSync(process.execPath, [
    "tools/run.mjs",
    "tools/package/main.ts",
    "--out",
    out,
    "executable",
  ]);
  const [file = ""] = readdirSync(out).filter((entry) => entry.startsWith("berth-"));
  return join(out, file);
}

function berth(...args: readonly string[]): string {
  return execFileSync(executable, args, { encoding: "utf8", maxBuffer: 2 ** 26 });
}

test("the executable has its parts, its licences and its bill of materials in it", () => {
  expect(berth("version")).toMatch(/\(commit \w+(-changed)?, from the executable, Node v24\./);
  expect(berth("kubelet", "--help")).toContain("--cert-dir");
  expect(berth("version", "--licenses")).toContain("@grpc/grpc-js");
  const { components } = JSON.parse(berth("version", "--sbom"));
  const names = components.map(({ name }: { readonly name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(["node", "@grpc/grpc-js"]));
});

test("the executable is the same when it is made again", () => {
  expect(readFileSync(makeExecutable("second")).equals(readFileSync(executable))).toBe(true);
});

test("the executable runs pods on a clean Debian, reads their volumes, and serves a kubelet's API", async () => {
  const packaged = new PackagedAgent(root, "/pods");
  await packaged.start();
  // Its helper process makes the folder of the volume.
  const volumes = [{ name: "data", hostPath: { path: "/srv/web", type: "DirectoryOrCreate" } }];
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  const script = `echo started; ${untilStopped}`;
  const web = await packaged.runPod("web", {
    volumes,
    containers: [shell("main", script, { volumeMounts })],
  });
  expect(existsSync(root.pathOf("/srv/web"))).toBe(true);
  expect(await packaged.succeed("berth", "get", "pods")).toMatch(/web-\S+ +1\/1 +Running/);
  expect(await packaged.succeed("berth", "exec", web, "--", "echo", "inside")).toBe("inside\n");
  expect(await packaged.succeed("berth", "logs", web)).toBe("started\n");
  // The thread of the page answers.
  await expect.poll(() => packaged.ask(10260, "/")).toContain("default-src 'none'");
  await packaged.stop();
  const kubelet = startKubelet();
  const ended = once(kubelet, "close");
  await expect.poll(() => packaged.ask(10248, "/healthz")).toMatch(/^HTTP\/1.1 200 .*\r\nok$/s);
  kubelet.kill("SIGTERM");
  await ended;
  await packaged.succeed("berth", "down");
  expect((await root.run("pgrep", "--full", "containerd|sleep")).stdout).toBe("");
});

/** Without a cluster, on the runtime that `berth up` has left running. */
function startKubelet() {
  const config = {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    containerRuntimeEndpoint: "unix:///var/lib/berth/containerd/containerd.sock",
    staticPodPath: "/pods",
    cgroupRoot: "/berth-debian",
    failCgroupV1: false,
    failSwapOn: false,
    enableServer: false,
    makeIPTablesUtilChains: false,
    evictionHard: {},
  };
  root.write("/etc/kubelet.json", JSON.stringify(config));
  const where = ["--root-dir=/var/lib/kubelet", "--cert-dir=/var/lib/kubelet/pki"];
  return root.start(
    "setpriv",
    "--pdeathsig=KILL",
    program,
    "kubelet",
    "--config=/etc/kubelet.json",
    ...where,
  );
}

test("the watchdog of the executable ends an agent that stands still", async () => {
  const pods = join(folder, "pods");
  mkdirSync(pods);
  const preload = join(folder, "preload.cjs");
  const dataDir = join(folder, "data");
  // Not before it is watched: its socket comes after the watchdog.
  const socket = JSON.stringify(join(dataDir, "berth.sock"));
  writeFileSync(
    preload,
    `const { existsSync } = require("node:fs");
    setInterval(() => { while (existsSync(${socket})); }, 100).unref();`,
  );
  const args = ["sim", "-f", pods, "--data-dir", dataDir];
  const environment = { NODE_OPTIONS: `--require ${preload}`, BERTH_WATCHDOG_SECONDS: "4" };
  agent = new BerthProcess(args, environment, { program: executable, isNative: true });
  await agent.ended;
  const report = JSON.parse(readFileSync(join(dataDir, "frozen.json"), "utf8"));
  expect(report).toMatchObject({ pid: agent.pid, kind: "thread" });
});
