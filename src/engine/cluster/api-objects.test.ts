import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { settle, VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { ApiError } from "../../model/api-error.ts";
import type { Node, PodSpec } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { WatchEvent } from "../../model/watch-event.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import { PodTable } from "../pods/pod-table.ts";
import { ApiObjects, type ApiObjectsDeps } from "./api-objects.ts";

/** Refuses the first watches of config maps. */
class HesitantApi extends MemoryApi {
  refusals = 0;

  override watch<T>(
    request: Parameters<ApiClient["watch"]>[0],
    onEvent: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (request.path.endsWith("/configmaps") && this.refusals > 0) {
      this.refusals -= 1;
      return Promise.reject(new ApiError(403, "Forbidden", "no relationship found"));
    }
    return super.watch<T>(request, onEvent, signal);
  }
}

function world(strategy: ApiObjectsDeps["strategy"] = "Watch") {
  const clock = new VirtualClock();
  const api = new HesitantApi(() => clock.nowMs());
  const stop = new AbortController();
  const changed: string[] = [];
  const nodes = new Map<string, Node>();
  const objects = new ApiObjects({
    api,
    clock,
    random: () => 0,
    log: silentLog,
    strategy,
    nodes: { items: nodes },
    table: new PodTable(),
    wakeups: { noteObject: (uid) => void changed.push(uid) },
    lifetime: stop.signal,
  });
  const running = objects.run(stop.signal);
  const prepare = (pod: Pod): Promise<void> => objects.prepare(pod, stop.signal);
  const end = async (): Promise<void> => {
    stop.abort(new Error("the test is over"));
    await running;
  };
  return { clock, api, objects, changed, nodes, prepare, end };
}

const configMapPath = "/api/v1/namespaces/default/configmaps/settings";

function podWith(uid: string, spec: Partial<PodSpec>): Pod {
  return testPod({ containers: [{ name: "c" }], ...spec }, { uid });
}

function usesSettings(uid: string): Pod {
  return podWith(uid, { volumes: [{ name: "v", configMap: { name: "settings" } }] });
}

/** The objects that are watched one by one. */
function watched(api: MemoryApi): string[] {
  return api.requests
    .filter(({ path }) => path.startsWith("/api/v1/namespaces/"))
    .map(({ query }) => query?.["fieldSelector"] ?? "");
}

test("only what pods refer to is watched, once for all of them", async () => {
  const { api, objects, prepare, end } = world();
  api.put(configMapPath, { data: { key: "1" } });
  const pod = podWith("uid-1", {
    containers: [
      {
        name: "c",
        envFrom: [{ configMapRef: { name: "settings" } }],
        env: [{ name: "A", valueFrom: { secretKeyRef: { name: "login", key: "k" } } }],
      },
    ],
    imagePullSecrets: [{ name: "registry" }],
    volumes: [
      { name: "a", secret: { secretName: "cert" } },
      { name: "b", projected: { sources: [{ configMap: { name: "settings" } }] } },
    ],
  });
  await prepare(pod);
  await prepare(usesSettings("uid-2"));
  expect(watched(api).toSorted()).toEqual([
    "metadata.name=cert",
    "metadata.name=login",
    "metadata.name=registry",
    "metadata.name=settings",
  ]);
  expect(objects.configMap("default", "settings")).toMatchObject({
    ok: true,
    value: { data: { key: "1" } },
  });
  expect(objects.secret("default", "cert")).toEqual({
    ok: false,
    error: { code: "not-found", message: 'secret "cert" not found' },
  });
  expect(objects.configMap("default", "other")).toEqual({
    ok: false,
    error: { code: "failed", message: 'object "default"/"other" not registered' },
  });
  await end();
});

test("an object is watched until the last pod that refers to it is gone", async () => {
  const { api, objects, prepare, end } = world();
  api.put(configMapPath, { data: {} });
  await prepare(usesSettings("uid-1"));
  await prepare(usesSettings("uid-2"));
  const collections = 2;
  expect(api.watchCount).toBe(collections + 1);
  objects.release(podUid("uid-1"));
  await settle();
  expect(api.watchCount).toBe(collections + 1);
  objects.release(podUid("uid-2"));
  await settle();
  expect(api.watchCount).toBe(collections);
  expect(objects.configMap("default", "settings").ok).toBe(false);
  await end();
});

test("a pod that refers to something else now no longer holds what it referred to", async () => {
  const { api, objects, prepare, end } = world();
  await prepare(usesSettings("uid-1"));
  await prepare(podWith("uid-1", { imagePullSecrets: [{ name: "registry" }] }));
  expect(objects.configMap("default", "settings").ok).toBe(false);
  await settle();
  expect(watched(api)).toHaveLength(2);
  expect(api.watchCount).toBe(3);
  await end();
});

test("the pods that refer to an object are synced when it changes, comes or goes", async () => {
  const { api, objects, changed, prepare, end } = world();
  await prepare(usesSettings("uid-1"));
  await prepare(usesSettings("uid-2"));
  expect(changed).toEqual([]);
  api.put(configMapPath, { data: { key: "1" } });
  await settle();
  expect(changed).toEqual(["uid-1", "uid-2"]);
  api.remove(configMapPath);
  await settle();
  expect(changed).toHaveLength(4);
  expect(objects.configMap("default", "settings")).toMatchObject({ error: { code: "not-found" } });
  await end();
});

test("an immutable object is kept without a watch", async () => {
  const { clock, api, objects, prepare, end } = world();
  api.put(configMapPath, { data: { key: "1" }, immutable: true });
  await prepare(usesSettings("uid-1"));
  await clock.advance(1000);
  expect(api.watchCount).toBe(2);
  await prepare(usesSettings("uid-2"));
  expect(objects.configMap("default", "settings").ok).toBe(true);
  await end();
});

test("what the server does not send in time is missing, and its pods are synced when it comes", async () => {
  const { clock, api, objects, changed, prepare, end } = world();
  api.put(configMapPath, { data: {} });
  api.goDown();
  await clock.run(prepare(usesSettings("uid-1")));
  expect(clock.monotonicMs()).toBeLessThanOrEqual(1000);
  expect(objects.configMap("default", "settings")).toEqual({
    ok: false,
    error: {
      code: "failed",
      message: "failed to sync configmap cache: timed out waiting for the condition",
    },
  });
  api.comeBack();
  await clock.advance(30_000);
  expect(changed).toEqual(["uid-1"]);
  expect(objects.configMap("default", "settings").ok).toBe(true);
  await end();
});

test("a node that may see an object a moment after its pod does not miss it", async () => {
  const { clock, api, objects, changed, prepare, end } = world();
  api.put(configMapPath, { data: {} });
  api.refusals = 2;
  const forbid = api.intercept(({ path }) => {
    if (path.endsWith("/configmaps")) throw new ApiError(403, "Forbidden", "no relationship found");
  });
  await clock.run(prepare(usesSettings("uid-1")));
  forbid();
  expect(clock.monotonicMs()).toBe(300);
  expect(objects.configMap("default", "settings").ok).toBe(true);
  expect(changed).toEqual([]);
  await end();
});

test("what is known serves while the server is away, and pods of what changed meanwhile are synced", async () => {
  const { clock, api, objects, changed, prepare, end } = world();
  api.put(configMapPath, { data: { key: "1" } });
  await prepare(usesSettings("uid-1"));
  api.goDown();
  await clock.advance(60_000);
  await prepare(usesSettings("uid-1"));
  expect(objects.configMap("default", "settings").ok).toBe(true);
  api.put(configMapPath, { data: { key: "2" } });
  api.compact();
  api.comeBack();
  await clock.advance(60_000);
  expect(changed).toEqual(["uid-1"]);
  expect(objects.configMap("default", "settings")).toMatchObject({ value: { data: { key: "2" } } });
  await end();
});

test("Cache reads an object again after a minute, and keeps it when the server cannot be reached", async () => {
  const { clock, api, objects, prepare, end } = world("Cache");
  api.put(configMapPath, { data: { key: "1" } });
  const reads = (): number => api.requests.filter(({ path }) => path === configMapPath).length;
  await prepare(usesSettings("uid-1"));
  api.put(configMapPath, { data: { key: "2" } });
  await clock.advance(59_000);
  await prepare(usesSettings("uid-1"));
  expect(reads()).toBe(1);
  expect(objects.configMap("default", "settings")).toMatchObject({ value: { data: { key: "1" } } });
  await clock.advance(1000);
  await prepare(usesSettings("uid-1"));
  expect(reads()).toBe(2);
  expect(objects.configMap("default", "settings")).toMatchObject({ value: { data: { key: "2" } } });
  await clock.advance(60_000);
  api.goDown();
  await prepare(usesSettings("uid-1"));
  expect(objects.configMap("default", "settings").ok).toBe(true);
  api.comeBack();
  api.remove(configMapPath);
  await prepare(usesSettings("uid-1"));
  expect(objects.configMap("default", "settings")).toMatchObject({ error: { code: "not-found" } });
  await end();
});

test("Cache keeps an object for as long as the node's annotation says", async () => {
  const { clock, api, nodes, prepare, end } = world("Cache");
  nodes.set("n", { metadata: { annotations: { "node.alpha.kubernetes.io/ttl": "15" } } });
  api.put(configMapPath, { data: {} });
  const reads = (): number => api.requests.filter(({ path }) => path === configMapPath).length;
  await prepare(usesSettings("uid-1"));
  await clock.advance(14_000);
  await prepare(usesSettings("uid-1"));
  expect(reads()).toBe(1);
  await clock.advance(1000);
  await prepare(usesSettings("uid-1"));
  expect(reads()).toBe(2);
  await end();
});

test("Get reads each time, and says what the server refuses", async () => {
  const { api, objects, prepare, end } = world("Get");
  api.put(configMapPath, { data: {} });
  const allow = api.intercept(({ path }) => {
    if (path === configMapPath) throw new ApiError(403, "Forbidden", "no relationship found");
  });
  await prepare(usesSettings("uid-1"));
  expect(objects.configMap("default", "settings")).toEqual({
    ok: false,
    error: { code: "failed", message: "no relationship found" },
  });
  allow();
  await prepare(usesSettings("uid-1"));
  await prepare(usesSettings("uid-1"));
  expect(objects.configMap("default", "settings").ok).toBe(true);
  expect(api.requests.filter(({ path }) => path === configMapPath)).toHaveLength(3);
  await end();
});

test("services and runtime classes are known to pods that start after they were read", async () => {
  const { api, objects, prepare, end } = world();
  api.put("/apis/node.k8s.io/v1/runtimeclasses/gvisor", { handler: "runsc" });
  api.put("/api/v1/namespaces/default/services/kubernetes", { spec: { clusterIP: "10.96.0.1" } });
  expect(objects.services).toBeUndefined();
  await prepare(podWith("uid-1", { runtimeClassName: "gvisor" }));
  expect(objects.services).toHaveLength(1);
  expect(objects.runtimeClass("gvisor")).toMatchObject({ value: { handler: "runsc" } });
  expect(objects.runtimeClass("kata")).toEqual({
    ok: false,
    error: { code: "not-found", message: 'runtimeclass.node.k8s.io "kata" not found' },
  });
  await end();
});

test("a static pod does not wait for the cluster", async () => {
  const { clock, api, prepare, end } = world();
  api.goDown();
  const pod = podWith("uid-1", {});
  const annotations = { "kubernetes.io/config.source": "file" };
  await prepare({ ...pod, metadata: { ...pod.metadata, annotations } });
  expect(clock.monotonicMs()).toBe(0);
  await end();
});
