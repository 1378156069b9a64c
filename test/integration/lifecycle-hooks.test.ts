import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Container, Lifecycle, PodSpec } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell } from "./support/agent-manifests.ts";
import { isReady, restartsOf, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

/** Writes a line on SIGTERM, and ends. */
const notesStop = "trap 'echo stopped $(date +%s) >> /notes/main; exit 0' TERM; sleep 3600 & wait";

describe("lifecycle hooks", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(63);
  });
  afterAll(() => world.close());

  const ready = (name: string): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), isReady);
  const notesFolder = (name: string): string => join(world.folder, `notes-${name}`);
  const notes = (name: string, file = "main"): string => {
    try {
      return readFileSync(join(notesFolder(name), file), "utf8");
    } catch {
      return "";
    }
  };

  /** A pod whose containers write to /notes what happens to them. */
  function write(
    name: string,
    containers: readonly Container[],
    more: Partial<PodSpec> = {},
  ): void {
    mkdirSync(notesFolder(name), { recursive: true });
    const volumeMounts = [{ name: "notes", mountPath: "/notes" }];
    world.write(
      `${name}.json`,
      podManifest(name, {
        containers: containers.map((container) => ({ ...container, volumeMounts })),
        volumes: [{ name: "notes", hostPath: { path: notesFolder(name) } }],
        ...more,
      }),
    );
  }

  const hooked = (lifecycle: Lifecycle, script = notesStop): Container =>
    shell("main", script, { lifecycle });
  const exec = (script: string) => ({ exec: { command: ["sh", "-c", script] } });

  /** Removes the pod; how long it took to go, and its events before it went. */
  async function remove(pod: Pod, name: string): Promise<{ seconds: number; events: string }> {
    const startedMs = Date.now();
    world.remove(`${name}.json`);
    let events = "";
    const readEvents = async (): Promise<void> => {
      const list = await world.client.listEvents(pod, AbortSignal.timeout(60_000)).catch(() => []);
      const texts = list.map(({ reason, message }) => `${reason}: ${message}`);
      if (texts.length > 0) events = texts.join("\n");
    };
    const describing = setInterval(() => void readEvents(), 50);
    await waitUntilGone(world.client, pod.metadata.uid);
    clearInterval(describing);
    return { seconds: (Date.now() - startedMs) / 1000, events };
  }

  test("postStart runs inside the container before it counts as started", async () => {
    write("start", [hooked({ postStart: exec("sleep 1; hostname >> /notes/main") })]);
    const pod = await ready("start");
    expect(notes("start")).toBe(`${pod.metadata.name}\n`);
  });

  test("a postStart that fails kills the container, which starts again, and the reason is reported", async () => {
    write("start-fails", [hooked({ postStart: exec("echo secret; exit 3") })]);
    const pod = await waitForPod(
      world.client,
      world.podName("start-fails"),
      (now) =>
        restartsOf(now) >= 1 && now.status?.containerStatuses?.[0]?.state?.waiting !== undefined,
    );
    expect(notes("start-fails")).toContain("stopped");
    const events = await world.client.listEvents(pod, AbortSignal.timeout(60_000));
    expect(events.map(({ reason }) => reason)).toContain("FailedPostStartHook");
    expect(events.map(({ message }) => message).join()).not.toContain("secret");
    world.remove("start-fails.json");
  });

  test("preStop by exec ends before the container is stopped, inside the grace period", async () => {
    write("stop", [hooked({ preStop: exec("sleep 2; echo hook $(date +%s) >> /notes/main") })]);
    await remove(await ready("stop"), "stop");
    const [hook, stopped] = notes("stop").trimEnd().split("\n");
    expect(hook).toMatch(/^hook/);
    expect(stopped).toMatch(/^stopped/);
  });

  test("preStop by httpGet asks the pod, by the name of a port, with the headers given", async () => {
    const serve =
      "trap 'exit 0' TERM; mkdir /www; while :; do { echo; } | nc -l -p 8080 >> /notes/requests; done & wait";
    const main = hooked(
      {
        preStop: {
          httpGet: {
            path: "/bye?x=1",
            port: "web",
            httpHeaders: [{ name: "X-Note", value: "leaving" }],
          },
        },
      },
      serve,
    );
    // Its own request would be taken for the hook's: the kernel's table says that it listens on 8080.
    const listens = exec("grep -q ':1F90 .* 0A ' /proc/net/tcp /proc/net/tcp6");
    const ports = [{ name: "web", containerPort: 8080 }];
    write("stop-http", [{ ...main, ports, readinessProbe: { ...listens, periodSeconds: 1 } }], {
      terminationGracePeriodSeconds: 5,
    });
    await remove(await ready("stop-http"), "stop-http");
    expect(notes("stop-http", "requests")).toContain("GET /bye?x=1 HTTP/1.1");
    expect(notes("stop-http", "requests")).toContain("X-Note: leaving");
  });

  test("preStop by sleep only waits", async () => {
    write("stop-sleep", [hooked({ preStop: { sleep: { seconds: 3 } } })]);
    const { seconds } = await remove(await ready("stop-sleep"), "stop-sleep");
    expect(seconds).toBeGreaterThanOrEqual(3);
    expect(notes("stop-sleep")).toContain("stopped");
  });

  test("a preStop that fails is reported, and the container is stopped all the same", async () => {
    write("stop-fails", [hooked({ preStop: exec("exit 1") })]);
    const { events } = await remove(await ready("stop-fails"), "stop-fails");
    expect(events).toContain("FailedPreStopHook: PreStopHook failed");
    expect(notes("stop-fails")).toContain("stopped");
  });

  test("a preStop that never ends is cut at the end of the grace period, and nothing is left", async () => {
    write("stop-hangs", [hooked({ preStop: exec("sleep 3600") })], {
      terminationGracePeriodSeconds: 4,
    });
    const pod = await ready("stop-hangs");
    const { seconds, events } = await remove(pod, "stop-hangs");
    expect(seconds).toBeGreaterThanOrEqual(4);
    expect(events).toContain("FailedPreStopHook");
    expect(await world.tracesLeft([pod.metadata.uid])).toEqual([]);
  });

  test("a stop signal of the pod's own is refused by name", async () => {
    write("signal", [hooked({ stopSignal: "SIGUSR1" })], { os: { name: "linux" } });
    const pod = await waitForPod(
      world.client,
      world.podName("signal"),
      ({ status }) => status?.phase === "Failed",
    );
    expect(pod.status?.message).toContain("spec.containers[0].lifecycle.stopSignal");
  });
});
