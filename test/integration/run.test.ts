import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { BerthProcess, buildProgram, type Ended } from "./support/agent-process.ts";
import { findCgroups } from "./support/leftovers.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";

const cgroupRoot = "/berth-run-test";

let world: RuntimeWorld;
/** Where the commands make the folders of their nodes: short, for the sockets in them. */
let temporary: string;
beforeAll(async () => {
  buildProgram();
  world = await startRuntimeWorld({ network: 43 });
  temporary = join(world.dataDir, "t");
  mkdirSync(temporary);
});
afterAll(() => world.close());

interface Container {
  readonly name?: string;
  readonly command: string;
  readonly image?: string;
}

function pod(name: string, containers: readonly Container[], more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 30,
      containers: containers.map(({ name: own = "main", image = "busybox:1.36", command }) => ({
        name: own,
        image,
        command: ["sh", "-c", command],
      })),
      ...more,
    },
  };
}

let files = 0;

/** Starts `berth run` for these pods, on the runtime of the test. */
function start(pods: readonly object[], ...flags: readonly string[]): BerthProcess {
  files += 1;
  const path = join(world.dataDir, `run-${files}.yaml`);
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: pods }));
  const place = {
    "runtime-endpoint": world.containerd.endpoint,
    "cgroup-root": cgroupRoot,
    "node-name": "n1",
  };
  const placed = Object.entries(place).flatMap(([name, value]) => [`--${name}`, value]);
  return new BerthProcess(["run", "-f", path, ...placed, ...flags], { TMPDIR: temporary });
}

function run(pods: readonly object[], ...flags: readonly string[]): Promise<Ended> {
  return start(pods, ...flags).ended;
}

async function left(): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(60_000);
  const [sandboxes, containers] = await Promise.all([
    world.runtime.listPodSandboxes({}, signal),
    world.runtime.listContainers({}, signal),
  ]);
  return [
    ...sandboxes.map(({ id }) => `sandbox ${id}`),
    ...containers.map(({ id }) => `container ${id}`),
    ...readdirSync(temporary).map((name) => `file ${name}`),
    ...findCgroups(cgroupRoot).map((path) => `cgroup ${path}`),
  ];
}

test("a pod that succeeds ends the command with 0 and only its own output, and leaves nothing", async () => {
  const { code, stdout, stderr } = await run([pod("job", [{ command: "echo out; echo bad >&2" }])]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "out\n" });
  expect(stderr.split("\n")).toContain("bad");
  expect(await left()).toEqual([]);
});

test("of several containers each line says where it is from, and the first exit code other than 0 counts", async () => {
  const first = pod("first", [
    { name: "well", command: "echo good" },
    { name: "ill", command: "echo poor; exit 7" },
  ]);
  const second = pod("second", [{ command: "exit 9" }]);
  const { code, stdout } = await run([first, second]);
  expect(code).toBe(7);
  expect(stdout.split("\n").toSorted()).toEqual([
    "",
    "[pod/first-n1/ill] poor",
    "[pod/first-n1/well] good",
  ]);
});

test("with OnFailure it runs until it succeeds, and the output of every run is there once", async () => {
  const command = "if [ -e /s/x ]; then echo second; else touch /s/x; echo first; exit 1; fi";
  const shared = {
    restartPolicy: "OnFailure",
    volumes: [{ name: "s", emptyDir: {} }],
    containers: [
      {
        name: "main",
        image: "busybox:1.36",
        command: ["sh", "-c", command],
        volumeMounts: [{ name: "s", mountPath: "/s" }],
      },
    ],
  };
  const { code, stdout } = await run([pod("again", [], shared)]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "first\nsecond\n" });
});

test("an init container that fails gives the exit code", async () => {
  const init = { name: "init", image: "busybox:1.36", command: ["sh", "-c", "exit 5"] };
  const { code } = await run([pod("init", [{ command: "true" }], { initContainers: [init] })]);
  expect(code).toBe(5);
});

test("a pod that the node does not take says why, and ends with 1", async () => {
  const { code, stderr } = await run([
    pod("picky", [{ command: "true" }], { nodeSelector: { disk: "fast" } }),
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/pod\/picky-n1: .*node affinity|NodeAffinity/i);
  expect(await left()).toEqual([]);
});

test("what never ends is refused before anything is started", async () => {
  const { code, stderr } = await run([
    pod("web", [{ command: "true" }], { restartPolicy: "Always" }),
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain("default/web-n1: spec.restartPolicy is Always");
  expect(stderr).toContain("set it to Never or OnFailure");
});

test("when its time is over it ends with 124, says what was awaited, and leaves nothing", async () => {
  const endless = pod("endless", [{ command: "trap 'exit 0' TERM; sleep 3600 & wait" }]);
  // The start of the node counts too.
  const { code, stderr } = await run([endless], "--timeout", "30s");
  expect(code).toBe(124);
  expect(stderr).toMatch(/the time is over[\s\S]*pod\/endless-n1: /);
  expect(await left()).toEqual([]);
});

describe("interrupted", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)(
    "by %s it ends the pods gracefully, with %i, and leaves nothing",
    async (name, code) => {
      const command = "trap 'echo bye; exit 0' TERM; echo hello; sleep 3600 & wait";
      const running = start([pod("stops", [{ command }])]);
      await running.untilPrinted(({ stdout }) => stdout.includes("hello"));
      const ended = await running.stop(name);
      expect(ended.code).toBe(code);
      expect(await left()).toEqual([]);
    },
  );

  test("by a second Ctrl-C it ends at once, and what it started is removed all the same", async () => {
    const stubborn = pod("stubborn", [{ command: "trap '' TERM; echo hello; sleep 3600 & wait" }], {
      terminationGracePeriodSeconds: 10,
    });
    const running = start([stubborn]);
    await running.untilPrinted(({ stdout }) => stdout.includes("hello"));
    void running.stop("SIGINT");
    await running.untilPrinted(({ stderr }) => stderr.includes("ending the pods"));
    const startMs = performance.now();
    await running.stop("SIGINT");
    expect(performance.now() - startMs).toBeLessThan(8_000);
    await vi.waitFor(async () => expect(await left()).toEqual([]), 60_000);
  });

  test("while an image is pulled it ends, and leaves nothing", async () => {
    // A registry that never answers.
    let onAsked = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      onAsked = resolve;
    });
    const registry: Server = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      onAsked();
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => registry.once("listening", resolve));
    const address = registry.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const image = `127.0.0.1:${port}/never:1`;
    const running = start([pod("pulls", [{ command: "true", image }])]);
    await asked;
    expect((await running.stop("SIGINT")).code).toBe(130);
    registry.close();
    expect(await left()).toEqual([]);
  });

  test("while its node starts it ends, and leaves nothing", async () => {
    const running = start([pod("early", [{ command: "true" }])]);
    await vi.waitFor(() => expect(readdirSync(temporary)).toHaveLength(1), 30_000);
    expect((await running.stop("SIGINT")).code).toBe(130);
    expect(await left()).toEqual([]);
  });
});

test("without a runtime it has a containerd of its own, which goes with it", async () => {
  const image = "127.0.0.1:1/none:1";
  const manifest = join(world.dataDir, "own.yaml");
  writeFileSync(manifest, JSON.stringify(pod("own", [{ command: "true", image }])));
  const flags = ["--bridge", "berth-r1", "--subnet", "10.98.232.0/24"];
  const running = new BerthProcess(["run", "-f", manifest, ...flags], { TMPDIR: temporary });
  await running.untilPrinted(({ stderr }) => /ErrImagePull|ImagePullBackOff/.test(stderr));
  const ended = await running.stop("SIGINT");
  expect(ended.code).toBe(130);
  expect(readdirSync(temporary)).toEqual([]);
  expect(existsSync("/sys/class/net/berth-r1")).toBe(false);
});
