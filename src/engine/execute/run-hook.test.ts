import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import type { HTTPGetAction, LifecycleHandler } from "../../model/generated/kubernetes.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { runtimeContainerId } from "../../model/ids.ts";
import { type HookDeps, runHook } from "./run-hook.ts";

const never = new AbortController().signal;

interface Hooked {
  readonly world: ExecutorWorld;
  /** What was asked by HTTP: the action, and the address for one that names no host. */
  readonly requests: [HTTPGetAction, string][];
  readonly run: (handler: LifecycleHandler, podIp?: string, signal?: AbortSignal) => Promise<void>;
  readonly metrics: MetricsRegistry;
}

/** A running container whose hooks can be run. */
async function hooked(http?: HookDeps["hookHttp"]): Promise<Hooked> {
  const world = new ExecutorWorld();
  const pod = testPod({ containers: [{ name: "web", command: ["serve", "1"] }] });
  await world.clock.run(world.sync(pod));
  const [container = { name: "" }] = pod.spec.containers;
  const containerId = world.runtime.findContainer("web")?.place.id ?? "";
  const requests: [HTTPGetAction, string][] = [];
  const recording: HookDeps["hookHttp"] = {
    get: async (action, { podIp }) => {
      requests.push([action, podIp]);
      return undefined;
    },
  };
  const metrics = new MetricsRegistry(metricDefinitions);
  const deps = { ...world.deps.kill, hookHttp: http ?? recording, metrics };
  return {
    world,
    requests,
    metrics,
    run: (handler, podIp = "10.0.0.5", signal = never) =>
      world.clock.run(
        runHook(
          deps,
          { pod, container, containerId: runtimeContainerId(containerId), podIp },
          handler,
          signal,
        ),
      ),
  };
}

test("an exec hook runs its command in the container and fails with its exit code", async () => {
  const { run } = await hooked();
  await run({ exec: { command: ["print", "fine", "", "0"] } });
  await expect(run({ exec: { command: ["print", "", "broken", "3"] } })).rejects.toThrow(
    "command 'print  broken 3' exited with 3: broken",
  );
});

test("an httpGet hook asks the pod's address, and says what failed", async () => {
  const { run, requests } = await hooked();
  const httpGet = { path: "/bye", port: 80 };
  await run({ httpGet });
  expect(requests).toEqual([[httpGet, "10.0.0.5"]]);
  const refusing = await hooked({ get: () => Promise.reject(new Error("connection refused")) });
  await expect(refusing.run({ httpGet })).rejects.toThrow(
    'HTTP lifecycle hook (/bye) for Container "web" in Pod "web_default(uid-1)" failed - error: connection refused',
  );
});

test("an httpGet hook without an address to ask fails before it asks", async () => {
  const { run, requests } = await hooked();
  await expect(run({ httpGet: { port: 80 } }, "")).rejects.toThrow("no address is known");
  await run({ httpGet: { port: 80, host: "other.example" } }, "");
  expect(requests).toHaveLength(1);
});

test("a sleep hook takes its seconds", async () => {
  const { world, run } = await hooked();
  const startMs = world.clock.monotonicMs();
  await run({ sleep: { seconds: 7 } });
  expect(world.clock.monotonicMs() - startMs).toBe(7000);
});

test("a sleep hook that is cut short says so and is counted", async () => {
  const { run, metrics } = await hooked();
  const cut = run({ sleep: { seconds: 7 } }, "", AbortSignal.abort());
  await expect(cut).rejects.toThrow("container terminated before sleep hook finished");
  expect(metrics.text(() => true)).toContain("kubelet_sleep_action_terminated_early_total 1\n");
});

test("a server without TLS is asked in plain HTTP, and that is reported", async () => {
  const { run, world, metrics } = await hooked({ get: async () => ({ plainHost: "10.0.0.5:80" }) });
  await run({ httpGet: { port: 80, scheme: "HTTPS" } });
  expect(world.events.at(-1)).toEqual({
    type: "Warning",
    reason: "LifecycleHTTPFallback",
    message:
      "request to HTTPS lifecycle hook 10.0.0.5:80 got HTTP response, retry with HTTP succeeded",
  });
  expect(metrics.text(() => true)).toContain("kubelet_lifecycle_handler_http_fallbacks_total 1\n");
});

test("only the beginning of what a hook printed is repeated", async () => {
  const { run } = await hooked();
  const failed = run({ exec: { command: ["print", "", "x".repeat(50_000), "3"] } });
  const text = await failed.then(String, (error: Error) => error.message);
  expect(text.slice(text.lastIndexOf("message:")).length).toBeLessThan(11_000);
});
