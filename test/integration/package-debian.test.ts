import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ensureImages } from "../../src/drivers/containerd/local-images.ts";
import { createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import type { Pod } from "../../src/model/pod.ts";
import { busyboxImage } from "../../tools/images/busybox-image.ts";
import { podManifest } from "./support/agent-manifests.ts";
import { DebianRoot } from "./support/debian-root.ts";

/** The clean Debian is made only once on a machine. */
const firstTimeMs = 1_200_000;
let packages: string;
let root: DebianRoot;
beforeAll(async () => {
  packages = mkdtempSync(join(tmpdir(), "berth-packages-"));
  const maker = ["tools/run.mjs", "tools/package/main.ts", "--out", packages, "deb"];
  execFileSync(process.execPath, maker);
  root = await DebianRoot.make("bookworm");
}, firstTimeMs);
afterAll(async () => {
  await root?.close();
  rmSync(packages, { recursive: true });
});

test("the Debian package is installed, runs pods, is upgraded under them, and is purged", async () => {
  const [file = ""] = readdirSync(packages).filter((name) => name.endsWith(".deb"));
  root.copy(join(packages, file), "/root/berth.deb");
  await succeed("dpkg", "-i", "/root/berth.deb");
  expect(await succeed("berth", "version")).toMatch(/from the Debian package, Node v2\d/);
  expect(await succeed("dpkg", "--verify", "berth")).toBe("");

  let agent = start();
  await importImage();
  root.write("/etc/berth/pods/web.yaml", podManifest("web"));
  const containerOf = async () =>
    (await readPod())?.status?.containerStatuses?.find(({ ready }) => ready)?.containerID;
  await expect.poll(containerOf).toBeDefined();
  const before = await containerOf();

  // What the package does to a running service: it is installed over it, and the service is started again.
  await succeed("dpkg", "-i", "/root/berth.deb");
  const ended = new Promise((resolve) => agent.once("close", resolve));
  await succeed("pkill", "--oldest", "--full", "berth up --filename");
  await ended;
  agent = start();
  await expect.poll(containerOf).toBe(before);
  expect((await readPod())?.status?.containerStatuses?.[0]?.restartCount).toBe(0);

  await succeed("dpkg", "--remove", "berth");
  expect((await root.run("pgrep", "--full", "containerd|sleep")).stdout).toBe("");
  expect(existsSync(root.pathOf("/etc/berth/pods/web.yaml"))).toBe(true);
  await succeed("dpkg", "--purge", "berth");
  const left = readdirSync(root.changes, { recursive: true, encoding: "utf8" });
  expect(left.filter((path) => path.includes("berth") && existsSync(root.pathOf(path)))).toEqual([
    "root/berth.deb",
  ]);
});

function start() {
  const where = ["--filename", "/etc/berth/pods", "--cgroup-root", "/berth-debian"];
  return root.start("berth", "up", ...where, "--bridge", "berth-debian");
}

async function succeed(...command: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await root.run(...command);
  if (code !== 0) throw new Error(`${command.join(" ")} exited with ${code}: ${stderr}`);
  return stdout;
}

async function readPod(): Promise<Pod | undefined> {
  const { code, stdout } = await root.run("berth", "get", "pods", "-o", "json");
  return code === 0 ? JSON.parse(stdout).items?.[0] : undefined;
}

async function importImage(): Promise<void> {
  const socket = root.pathOf("/var/lib/berth/containerd/containerd.sock");
  await expect.poll(() => existsSync(socket)).toBe(true);
  const images = createCriRuntime(socket);
  const signal = AbortSignal.timeout(60_000);
  await ensureImages({ images, ctr: "ctr", socket }, [busyboxImage("latest")], signal);
  images.close();
}
