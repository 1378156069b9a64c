import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Machine } from "../../model/machine.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { RuntimeEvents } from "../../ports/runtime-events.ts";
import { type PreflightOptions, runPreflight } from "./preflight.ts";

const BARE: Machine = {
  isRoot: false,
  capabilities: 0n,
  kernelRelease: "3.10.0",
  overlayKnown: false,
  cgroups: { version: "v2", controllers: ["cpu"] },
  tools: {},
  cni: { searched: ["/opt/cni/bin"], folder: undefined, missing: ["bridge"] },
  uplink: undefined,
};
const READY = {
  version: () =>
    Promise.resolve({ runtimeName: "r", runtimeVersion: "1", runtimeApiVersion: "v1" }),
  status: () =>
    Promise.resolve({
      status: {
        conditions: [
          { type: "RuntimeReady", status: true },
          { type: "NetworkReady", status: false, reason: "NoCni", message: "no config" },
        ],
      },
    }),
};

async function check(
  options: Partial<PreflightOptions>,
): Promise<Readonly<Record<string, string>>> {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-preflight-"));
  try {
    const results = await runPreflight(
      { machine: BARE, dataDir, managed: true, ...options },
      AbortSignal.timeout(10_000),
    );
    return Object.fromEntries(results.map((one) => [one.name, `${one.status}: ${one.found}`]));
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

test("everything that a machine lacks is reported at once", async () => {
  expect(await check({})).toMatchObject({
    root: "failed: no",
    capabilities: "failed: without CAP_SYS_ADMIN, CAP_NET_ADMIN",
    kernel: "failed: 3.10.0",
    cgroups: "failed: v2 with cpu",
    overlayfs: expect.stringContaining("warning"),
    containerd: "failed: not installed",
    runc: "failed: not installed",
    iptables: "failed: not installed",
    "CNI plugins": "failed: bridge not in /opt/cni/bin",
  });
});

test("with a runtime of its own the machine needs no containerd", async () => {
  expect(Object.keys(await check({ managed: false }))).not.toContain("containerd");
});

test.each(["relative/path", "/proc/version"])("%s is not a data folder", async (dataDir) => {
  expect((await check({ dataDir }))["data folder"]).toMatch(/^failed/);
});

test("a program that is there but does not run is found out", async () => {
  const tools = { containerd: "/bin/false", runc: process.execPath };
  const results = await check({ machine: { ...BARE, tools } });
  expect(results["containerd"]).toMatch(/^failed: does not run/);
  expect(results["runc"]).toBe(`ok: ${process.versions.node} (${process.execPath})`);
});

test("a runtime's conditions and the working event source are reported", async () => {
  const none: RuntimeEvents = {
    name: "cri",
    subscribe: () => Promise.reject(new RuntimeError("x", "Unimplemented", "unknown method")),
  };
  const works: RuntimeEvents = {
    name: "containerd",
    subscribe: (onSubscribed) => {
      onSubscribed();
      return Promise.resolve();
    },
  };
  expect(await check({ runtime: { client: READY, events: [none, works] } })).toMatchObject({
    runtime: "ok: r 1 with CRI v1",
    RuntimeReady: "ok: yes",
    NetworkReady: "failed: NoCni: no config",
    "runtime events": "ok: containerd; cri: unknown method",
  });
  expect(await check({ runtime: { client: READY, events: [none] } })).toMatchObject({
    "runtime events": "warning: polling; cri: unknown method",
  });
});

test("a runtime that does not answer is reported with its error", async () => {
  const client = {
    ...READY,
    version: () => Promise.reject(new RuntimeError("Version", "Unavailable", "connect ENOENT")),
  };
  expect(await check({ runtime: { client, events: [] } })).toMatchObject({
    runtime: "failed: connect ENOENT",
  });
});
