import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DebianRoot, packageSuite } from "./support/debian-root.ts";
import { PackagedAgent } from "./support/packaged-agent.ts";

/** The clean Debian is made only once on a machine. */
const firstTimeMs = 1_200_000;
let folder: string;
let file: string;
let root: DebianRoot;
let packaged: PackagedAgent;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-packages-"));
  file = makePackage("first");
  root = await DebianRoot.make(packageSuite());
  packaged = new PackagedAgent(root, "/etc/berth/pods");
}, firstTimeMs);
afterAll(async () => {
  await root?.close();
  rmSync(folder, { recursive: true });
});

function makePackage(name: string): string {
  const out = join(folder, name);
  execFileSync(process.execPath, ["tools/run.mjs", "tools/package/main.ts", "--out", out, "deb"]);
  const [made = ""] = readdirSync(out).filter((entry) => entry.endsWith(".deb"));
  return join(out, made);
}

test("the Debian package is the same when it is made again", () => {
  expect(readFileSync(makePackage("second")).equals(readFileSync(file))).toBe(true);
});

test("the Debian package is installed, runs pods, is upgraded under them, and is purged", async () => {
  root.copy(file, "/root/berth.deb");
  await packaged.succeed("dpkg", "-i", "/root/berth.deb");
  expect(await packaged.succeed("berth", "version")).toMatch(/from the Debian package, Node v2\d/);
  expect(await packaged.succeed("dpkg", "--verify", "berth")).toBe("");
  const bill = await packaged.succeed("cat", "/usr/share/doc/berth/sbom.cdx.json");
  const { components } = JSON.parse(bill);
  const names = components.map(({ name }: { readonly name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(["node", "@grpc/grpc-js"]));

  expect(existsSync(root.pathOf("/usr/lib/berth/ui/index.html"))).toBe(true);

  await packaged.start();
  await packaged.runPod("web");
  const before = await packaged.containerOf("web");

  // What the package does to a running service: it is installed over it, and the service is started again.
  await packaged.succeed("dpkg", "-i", "/root/berth.deb");
  await packaged.stop();
  await packaged.start();
  await expect.poll(() => packaged.containerOf("web")).toBe(before);
  expect((await packaged.pod("web"))?.status?.containerStatuses?.[0]?.restartCount).toBe(0);

  await packaged.succeed("dpkg", "--remove", "berth");
  expect((await root.run("pgrep", "--full", "containerd|sleep")).stdout).toBe("");
  expect(existsSync(root.pathOf("/etc/berth/pods/web.json"))).toBe(true);
  await packaged.succeed("dpkg", "--purge", "berth");
  const left = readdirSync(root.changes, { recursive: true, encoding: "utf8" });
  expect(left.filter((path) => path.includes("berth") && existsSync(root.pathOf(path)))).toEqual([
    "root/berth.deb",
  ]);
});

test("systemd takes the units of the Debian package as they are", async () => {
  await packaged.succeed("dpkg", "-i", "/root/berth.deb");
  for (const unit of ["berth.service", "berth-kubelet.service"]) {
    const { code, stdout, stderr } = await root.run("systemd-analyze", "verify", "--man=no", unit);
    expect({ code, text: `${stdout}${stderr}` }).toEqual({ code: 0, text: "" });
  }
});
