import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { podManifest, shell } from "../integration/support/agent-manifests.ts";
import {
  isReady,
  restartsOf,
  waitForPod,
  waitUntilGone,
} from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

// More seconds than a timer of Node has milliseconds for, up to the longest that the API takes.
const graces = ["2147484", "9223372036854775807"];

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start(133);
});
afterAll(() => world.close());

test.each(graces)("a grace period of %s seconds is not over at once", async (seconds) => {
  const name = `grace-${seconds}`;
  const folder = join(world.folder, name);
  mkdirSync(folder);
  const script =
    "trap 'sleep 2; echo ended > /out/ended; exit 0' TERM; touch /out/up; while :; do sleep 0.1; done";
  const main = shell("main", script, {
    volumeMounts: [{ name: "out", mountPath: "/out" }],
    lifecycle: { preStop: { exec: { command: ["sh", "-c", "sleep 1; touch /out/hook"] } } },
  });
  const manifest = podManifest(name, {
    containers: [main],
    volumes: [{ name: "out", hostPath: { path: folder } }],
    terminationGracePeriodSeconds: 77,
  });
  world.write(`${name}.json`, manifest.replace(":77", `:${seconds}`));
  const pod = await waitForPod(world.client, world.podName(name), isReady);
  await expect.poll(() => existsSync(join(folder, "up"))).toBe(true);
  world.remove(`${name}.json`);
  await waitUntilGone(world.client, pod.metadata.uid);
  expect(existsSync(join(folder, "hook"))).toBe(true);
  expect(readFileSync(join(folder, "ended"), "utf8")).toBe("ended\n");
});

test("probes and a deadline of very many seconds do not fail at once", async () => {
  const timeoutSeconds = 2 ** 31 - 1;
  const serve = "mkdir /www; echo here > /www/index.html; httpd -f -p 8080 -h /www";
  const often = { timeoutSeconds, periodSeconds: 1, failureThreshold: 1 };
  const main = shell("main", serve, {
    startupProbe: { ...often, failureThreshold: 60, tcpSocket: { port: 8080 } },
    livenessProbe: { ...often, exec: { command: ["sleep", "1"] } },
    readinessProbe: { ...often, failureThreshold: 60, httpGet: { port: 8080 } },
  });
  const spec = { containers: [main], activeDeadlineSeconds: timeoutSeconds };
  world.write("probed.json", podManifest("probed", spec));
  const pod = await waitForPod(world.client, world.podName("probed"), isReady);
  expect(restartsOf(pod)).toBe(0);
});
