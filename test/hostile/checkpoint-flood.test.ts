import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hostFiles } from "../../src/drivers/linux/host-files.ts";
import { linuxHostUsage } from "../../src/drivers/linux/host-usage.ts";
import { ContainerCheckpoints, NodeHost } from "../../src/engine/node/node-host.ts";
import type { ObservedPod } from "../../src/model/observed.ts";
import {
  freePort,
  type ServedKubeletApi,
  serveKubelet,
  withFolder,
} from "../fakes/served-kubelet-api.ts";
import { runningPod } from "../kit/pods.ts";
import { createTestAuthority, type TestAuthority } from "../kit/test-authority.ts";

const path = "/checkpoint/default/web/main";
const post = { method: "POST", token: "robot" };
let authority: TestAuthority;

beforeAll(() => {
  authority = createTestAuthority();
});
afterAll(() => authority.remove());

interface Flood {
  readonly api: ServedKubeletApi;
  readonly archives: string;
  readonly readOnlyPort: number;
  /** Lets the limit on the rate forget what was asked for. */
  readonly wait: () => void;
}

/** The API before a runtime whose checkpoints are small files. */
async function flood(use: (world: Flood) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const archives = join(folder, "checkpoints");
    let nowMs = Date.parse("2026-11-01T00:00:00Z");
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    let count = 0;
    const runtime = {
      checkpointContainer: async (_: string, location: string) => {
        writeFileSync(location.replace(".tar", `-${count++}.tar`), "state");
      },
    };
    const usage = linuxHostUsage(() => nowMs, 0);
    const host = new NodeHost({
      runtime: { ...unused, ...runtime },
      clock,
      observed: { find: () => observed },
      loop: { lastTurnMs: nowMs },
      queue: { resyncIntervalMs: 60_000 },
      checkpoints: new ContainerCheckpoints({
        runtime,
        files: hostFiles,
        hostUsage: usage,
        clock,
        folder: archives,
      }),
    });
    const readOnlyPort = await freePort();
    const api = await serveKubelet(authority.issue("/CN=node-1"), {
      host,
      config: { readOnlyPort },
    });
    api.view.put(runningPod("web"));
    api.reviews.users.set("robot", { username: "robot" });
    api.reviews.allowed.add("robot * *");
    try {
      await use({ api, archives, readOnlyPort, wait: () => void (nowMs += 60 * 60_000) });
    } finally {
      await api.stop();
    }
  });
}

const unused = {
  listPodSandboxes: () => Promise.resolve([]),
  listContainers: () => Promise.resolve([]),
  portForward: () => Promise.reject(new Error("unused")),
  execSyncWhole: () => Promise.reject(new Error("unused")),
};

const observed = {
  containers: [{ name: "main", state: "running", id: "containerd://1" }],
} as unknown as ObservedPod;

test("no checkpoint is written for an anonymous request, nor over the read-only port", async () => {
  await flood(async ({ api, archives, readOnlyPort }) => {
    expect((await api.ask(path, { method: "POST" })).status).toBe(401);
    const answer = await fetch(`http://127.0.0.1:${readOnlyPort}${path}`, { method: "POST" });
    expect(answer.status).toBe(404);
    expect(() => readdirSync(archives)).toThrow("ENOENT");
  });
});

test("checkpoints in quick succession are refused after a few", async () => {
  await flood(async ({ api, archives }) => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => api.ask(path, post)));
    expect(readdirSync(archives)).toHaveLength(5);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(35);
    expect(refused[0]?.headers["retry-after"]).toBe("10");
    expect(refused[0]?.body).toContain(
      "checkpointing of default/web/main was refused: too many checkpoints in a short time",
    );
  });
});

test("checkpoints over weeks stop at a hundred archives, and go on when some are removed", async () => {
  await flood(async ({ api, archives, wait }) => {
    for (let count = 0; count < 120; count++) {
      wait();
      const { status, body } = await api.ask(path, post);
      expect([status, body.length > 0]).toEqual([count < 100 ? 200 : 507, true]);
    }
    expect(readdirSync(archives)).toHaveLength(100);
    wait();
    expect((await api.ask(path, post)).body).toContain(`${archives} holds 100 archives`);
    await hostFiles.removeFile(join(archives, readdirSync(archives)[0] ?? ""));
    wait();
    expect((await api.ask(path, post)).status).toBe(200);
    expect(statSync(archives).mode & 0o777).toBe(0o700);
  });
});

test("archives that take a tenth of the disk leave no room for another", async () => {
  await flood(async ({ api, archives, wait }) => {
    mkdirSync(archives, { mode: 0o700 });
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m,mode=0700", "tmpfs", archives]);
    try {
      expect((await api.ask(path, post)).status).toBe(200);
      writeFileSync(join(archives, "large.tar"), Buffer.alloc(2 * 2 ** 20));
      wait();
      const { status, body } = await api.ask(path, post);
      expect([status, body]).toEqual([507, expect.stringContaining("1.6 MiB is the limit")]);
    } finally {
      execFileSync("umount", [archives]);
    }
  });
});
