import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Container, ContainerStatus, PodSpec } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, PodChanges, restartsOf, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

const nodeServer = `
const http2 = require("node:http2");
http2.createServer().on("stream", (stream, headers) => {
  const isHealthCheck = headers[":path"] === "/grpc.health.v1.Health/Check";
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": isHealthCheck ? "0" : "12" }));
  // A message of two bytes: the field status, SERVING.
  stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
}).listen(9000);
process.on("SIGTERM", () => process.exit(0));
`;

/** The test's own Node inside a container of busybox. */
const nodeVolumes = ["/usr", "/lib", "/lib64"].map((path) => ({
  name: path.slice(1),
  hostPath: { path },
}));
const nodeMounts = nodeVolumes.map(({ name }) => ({
  name,
  mountPath: `/${name}`,
  readOnly: true,
}));

describe("probes", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(64);
  });
  afterAll(() => world.close());

  const until = (name: string, isReached: (pod: Pod) => boolean): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), isReached);
  const write = (name: string, containers: readonly Container[], more: Partial<PodSpec> = {}) =>
    world.write(`${name}.json`, podManifest(name, { containers, ...more }));
  const main = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.[0];
  const eventsOf = async (pod: Pod): Promise<string> =>
    (await world.client.listEvents(pod, AbortSignal.timeout(60_000)))
      .map(({ reason, message }) => `${reason}: ${message}`)
      .join("\n");
  const exec = (pod: string, ...command: readonly string[]) =>
    world.berth("exec", pod, "--", ...command);
  const often = { periodSeconds: 1, failureThreshold: 1 };

  test("readiness by exec, httpGet, tcpSocket and grpc: ready only when all say so", async () => {
    const readinessProbe = { ...often, httpGet: { path: "/ok", port: "web" } };
    write(
      "kinds",
      [
        shell("exec", untilStopped, {
          readinessProbe: { ...often, exec: { command: ["test", "-e", "/tmp/ok"] } },
        }),
        shell(
          "http",
          `mkdir /www; ${untilStopped.replace("sleep", "httpd -f -p 8080 -h /www & sleep")}`,
          {
            readinessProbe,
            ports: [{ name: "web", containerPort: 8080 }],
          },
        ),
        shell("tcp", untilStopped, { readinessProbe: { ...often, tcpSocket: { port: 7000 } } }),
        shell("grpc", 'exec /usr/bin/node -e "$SERVER"', {
          env: [{ name: "SERVER", value: nodeServer }],
          readinessProbe: { ...often, grpc: { port: 9000, service: "x" } },
          volumeMounts: nodeMounts,
        }),
      ],
      { volumes: nodeVolumes },
    );
    const readyOnes = ({ status }: Pod): string =>
      (status?.containerStatuses ?? [])
        .filter(({ ready }) => ready)
        .map(({ name }) => name)
        .join();
    await until("kinds", (pod) => readyOnes(pod) === "grpc");
    await world.berth("exec", "kinds", "-c", "http", "--", "touch", "/www/ok");
    await until("kinds", (pod) => readyOnes(pod) === "grpc,http");
    await world.berth("exec", "kinds", "-c", "exec", "--", "touch", "/tmp/ok");
    await world.berth("exec", "kinds", "-c", "tcp", "--", "httpd", "-p", "7000");
    await until("kinds", isReady);
    await world.berth("exec", "kinds", "-c", "http", "--", "rm", "/www/ok");
    const pod = await until("kinds", (now) => !isReady(now));
    expect(restartsOf(pod, "http")).toBe(0);
    expect(await eventsOf(pod)).toContain(
      "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 404",
    );
    world.remove("kinds.json");
  });

  test("a container is restarted after as many failures of its liveness probe as it allows", async () => {
    const livenessProbe = {
      exec: { command: ["test", "!", "-e", "/tmp/bad"] },
      initialDelaySeconds: 1,
      periodSeconds: 1,
      failureThreshold: 3,
      terminationGracePeriodSeconds: 1,
    };
    // It ignores the signal: only the probe's own grace period is short enough.
    write("live", [shell("main", "trap '' TERM; while :; do sleep 1; done", { livenessProbe })], {
      terminationGracePeriodSeconds: 600,
    });
    const pod = await until("live", isReady);
    await exec("live", "touch", "/tmp/bad");
    const startedMs = Date.now();
    const after = await until("live", (now) => restartsOf(now) === 1);
    const seconds = (Date.now() - startedMs) / 1000;
    expect(seconds).toBeGreaterThan(2);
    expect(after.metadata.uid).toBe(pod.metadata.uid);
    expect(main(after)?.lastState?.terminated).toMatchObject({ exitCode: 137 });
    const events = await eventsOf(after);
    expect(events).toContain("Unhealthy: Liveness probe failed");
    expect(events).toContain("Killing: Container main failed liveness probe, will be restarted");
    await world.agent.stop("SIGTERM");
    await world.up();
    world.remove("live.json");
  });

  test("nothing else is probed until the startup probe has succeeded, and its failures restart", async () => {
    const startupProbe = {
      ...often,
      exec: { command: ["test", "-e", "/tmp/up"] },
      failureThreshold: 60,
    };
    const livenessProbe = { ...often, exec: { command: ["test", "-e", "/tmp/live"] } };
    write("startup", [shell("main", untilStopped, { startupProbe, livenessProbe })]);
    const starting = await until("startup", (pod) => main(pod)?.state?.running !== undefined);
    expect(main(starting)).toMatchObject({ started: false, ready: false });
    await expect.poll(() => eventsOf(starting)).toContain("Startup probe failed");
    expect(await eventsOf(starting)).not.toContain("Liveness probe failed");
    await exec("startup", "sh", "-c", "touch /tmp/live; touch /tmp/up");
    const started = await until("startup", isReady);
    expect(main(started)).toMatchObject({ started: true, restartCount: 0 });
    const failing = { ...startupProbe, exec: { command: ["false"] }, failureThreshold: 2 };
    write("startup-fails", [shell("main", untilStopped, { startupProbe: failing })]);
    const failed = await until("startup-fails", (pod) => restartsOf(pod) >= 1);
    expect(await eventsOf(failed)).toContain(
      "Container main failed startup probe, will be restarted",
    );
    world.remove("startup.json");
    world.remove("startup-fails.json");
  });

  test("a readiness gate that stays closed keeps the pod from being ready, not its containers", async () => {
    write("gate", [shell("main", untilStopped)], {
      readinessGates: [{ conditionType: "example.com/open" }],
    });
    const pod = await until("gate", (now) => main(now)?.ready === true);
    const conditions = new Map((pod.status?.conditions ?? []).map((each) => [each.type, each]));
    expect(conditions.get("ContainersReady")?.status).toBe("True");
    expect(conditions.get("Ready")).toMatchObject({
      status: "False",
      reason: "ReadinessGatesNotReady",
    });
    world.remove("gate.json");
  });

  test("a probe that prints without end fails in its time and costs the agent no memory", async () => {
    const readinessProbe = { exec: { command: ["yes"] }, periodSeconds: 1, timeoutSeconds: 2 };
    write("endless", [shell("main", untilStopped, { readinessProbe })]);
    const pod = await until("endless", (now) => main(now)?.state?.running !== undefined);
    await expect.poll(() => eventsOf(pod), { timeout: 60_000 }).toContain("Readiness probe");
    const events = await eventsOf(pod);
    expect(events.length).toBeLessThan(40_000);
    expect(events).toMatch(/timed out|errored/);
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${world.agent.pid}/status`, "utf8"));
    expect(Number(peak?.[1])).toBeLessThan(400 * 1024);
    world.remove("endless.json");
  });

  test("a pod that is ready stays so while the agent is killed and comes back", async () => {
    const readinessProbe = {
      ...often,
      periodSeconds: 2,
      exec: { command: ["test", "-e", "/tmp/ok"] },
    };
    const script = `touch /tmp/ok; ${untilStopped}`;
    const startupProbe = { ...often, exec: { command: ["true"] } };
    write("steady", [shell("main", script, { readinessProbe, startupProbe })]);
    write("young", [shell("main", script, { readinessProbe, startupProbe })]);
    const pods = await Promise.all([until("steady", isReady), until("young", isReady)]);
    for (let round = 0; round < 2; round++) {
      await world.agent.stop("SIGKILL");
      await world.up();
      const changes = new PodChanges(world.client);
      const uids = new Set(pods.map(({ metadata }) => metadata.uid));
      const ofThem = () => changes.list.filter(({ pod }) => uids.has(pod.metadata.uid));
      await expect.poll(() => ofThem().length).toBeGreaterThanOrEqual(2);
      // Long enough for several rounds of the probes.
      await delay(6000);
      await changes.stop();
      const seen = ofThem();
      expect(seen.filter(({ pod }) => !isReady(pod))).toEqual([]);
      for (const { pod } of seen) {
        const before = pods.find(({ metadata }) => metadata.uid === pod.metadata.uid);
        const ready = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === "Ready");
        expect(before && ready(pod)?.lastTransitionTime).toBe(
          before && ready(before)?.lastTransitionTime,
        );
      }
    }
    await exec("steady", "rm", "/tmp/ok");
    await until("steady", (pod) => !isReady(pod));
    world.remove("steady.json");
    world.remove("young.json");
  });
});
