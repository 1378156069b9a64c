import { describe, expect, test } from "vitest";
import type { WatchEvent } from "../../src/model/watch-event.ts";
import type { StoredObject } from "./api-watchers.ts";
import { MemoryApi } from "./memory-api.ts";

const never = new AbortController().signal;
const nodes = "/api/v1/nodes";
const pods = "/api/v1/namespaces/ns/pods";

describe("the API server in memory", () => {
  test("creates once and answers what it kept", async () => {
    const api = new MemoryApi();
    const body = { metadata: { name: "a" }, spec: { x: 1 } };
    const made = await api.send<StoredObject>({ method: "POST", path: nodes, body }, never);
    expect(made.metadata.resourceVersion).toBe("1");
    await expect(api.send({ method: "POST", path: nodes, body }, never)).rejects.toMatchObject({
      status: 409,
      reason: "AlreadyExists",
    });
    expect(await api.send({ method: "GET", path: `${nodes}/a` }, never)).toEqual(made);
    await expect(api.send({ method: "GET", path: `${nodes}/b` }, never)).rejects.toMatchObject({
      status: 404,
      message: 'nodes "b" not found',
    });
  });

  test("refuses an update that is based on an old version", async () => {
    const api = new MemoryApi();
    const old = api.put("/apis/coordination.k8s.io/v1/namespaces/n/leases/l", { spec: { a: 1 } });
    api.put("/apis/coordination.k8s.io/v1/namespaces/n/leases/l", { spec: { a: 2 } });
    const path = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l";
    await expect(api.send({ method: "PUT", path, body: old }, never)).rejects.toMatchObject({
      reason: "Conflict",
    });
  });

  test("merges status lists by key and leaves the spec alone", async () => {
    const api = new MemoryApi();
    api.put(`${nodes}/a`, {
      spec: { x: 1 },
      status: { conditions: [{ type: "A", status: "True" }, { type: "B" }] },
    });
    const body = {
      spec: { x: 2 },
      status: {
        "$setElementOrder/conditions": [{ type: "C" }, { type: "A" }],
        conditions: [
          { type: "C" },
          { type: "A", status: "False" },
          { type: "B", $patch: "delete" },
        ],
      },
    };
    await api.send({ method: "PATCH", path: `${nodes}/a/status`, body }, never);
    expect(api.get(`${nodes}/a`)).toMatchObject({
      spec: { x: 1 },
      status: { conditions: [{ type: "C" }, { type: "A", status: "False" }] },
    });
  });

  test("lets a pod end gracefully, then at once", async () => {
    const api = new MemoryApi();
    api.put(`${pods}/p`, { spec: { terminationGracePeriodSeconds: 5 } });
    await api.send({ method: "DELETE", path: `${pods}/p` }, never);
    expect(api.get(`${pods}/p`)?.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 });
    const wrong = { gracePeriodSeconds: 0, preconditions: { uid: "other" } };
    const gone = { method: "DELETE", path: `${pods}/p` } as const;
    await expect(api.send({ ...gone, body: wrong }, never)).rejects.toMatchObject({ status: 409 });
    await api.send({ ...gone, body: { gracePeriodSeconds: 0 } }, never);
    expect(api.get(`${pods}/p`)).toBeUndefined();
  });

  test("watches by field selector: what comes to match is added, what ceases to is deleted", async () => {
    const api = new MemoryApi();
    api.put(`${pods}/mine`, { spec: { nodeName: "n" } });
    api.put(`${pods}/other`, { spec: { nodeName: "m" } });
    const seen: string[] = [];
    const query = { fieldSelector: "spec.nodeName=n", sendInitialEvents: "true" };
    const onEvent = (event: WatchEvent<StoredObject>): number =>
      seen.push(`${event.type} ${event.object.metadata.name}`);
    const watching = api.watch<StoredObject>({ path: "/api/v1/pods", query }, onEvent, never);
    await Promise.resolve();
    api.put(`${pods}/other`, { spec: { nodeName: "n" } });
    api.put(`${pods}/mine`, { spec: { nodeName: "m" } });
    api.cutWatches();
    await watching;
    expect(seen).toEqual(["ADDED mine", "BOOKMARK ", "ADDED other", "DELETED mine"]);
  });

  test("continues a watch from a version, and refuses one from before history", async () => {
    const api = new MemoryApi();
    const { resourceVersion } = api.put(`${nodes}/a`, {}).metadata;
    api.put(`${nodes}/b`, {});
    const seen: string[] = [];
    const watch = (): Promise<void> =>
      api.watch<StoredObject>(
        { path: nodes, query: { resourceVersion } },
        ({ object }) => seen.push(object.metadata.name),
        never,
      );
    const watching = watch();
    await Promise.resolve();
    api.goDown();
    await expect(watching).rejects.toThrow("ECONNREFUSED");
    expect(seen).toEqual(["b"]);
    api.comeBack();
    api.compact();
    await expect(watch()).rejects.toMatchObject({ status: 410 });
  });
});
