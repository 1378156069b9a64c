import { afterEach, describe, expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { testHistory } from "../../../test/kit/test-history.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { settle, VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { ApiError } from "../../model/api-error.ts";
import { ApiClaims } from "./api-claims.ts";
import { csiDriverReflector } from "./api-csi-objects.ts";
import { EventSender } from "./event-sender.ts";

const claimPath = "/api/v1/namespaces/ns/persistentvolumeclaims/data";
const driversPath = "/apis/storage.k8s.io/v1/csidrivers";
const forever = new AbortController().signal;

let endWorld: () => Promise<void> = () => Promise.resolve();
afterEach(() => endWorld());

/** A node whose CSIDriver objects are followed, and whose events are sent. */
function world({ isFollowing } = { isFollowing: true }) {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  const deps = { api, clock, random: () => 0.5, log: silentLog };
  const changedDrivers: (readonly string[])[] = [];
  const csiDrivers = csiDriverReflector({
    ...deps,
    wakeups: { noteCsiDrivers: (names) => void changedDrivers.push(names) },
  });
  const limits = { perSecond: 50, burst: 100 };
  const names = { nodeName: "node-a", uniqueName: () => "unique" };
  const events = new EventSender({ ...deps, ...names, ...limits, history: testHistory() });
  const stop = new AbortController();
  const running = [events.run(stop.signal)];
  const follow = (): void => void running.push(csiDrivers.run(stop.signal));
  if (isFollowing) follow();
  endWorld = async () => {
    stop.abort();
    await Promise.all(running);
  };
  return {
    api,
    clock,
    csiDrivers,
    changedDrivers,
    follow,
    claims: new ApiClaims({ ...deps, csiDrivers, events }),
  };
}

describe("the claims of a cluster", () => {
  test("are read one by one, with their volumes, and nothing of them is listed or watched", async () => {
    const { api, claims } = world();
    api.put(claimPath, { spec: { volumeName: "pv-1" }, status: { phase: "Bound" } });
    api.put("/api/v1/persistentvolumes/pv-1", { spec: { capacity: { storage: "1Gi" } } });
    const claim = await claims.claim("ns", "data", forever);
    expect(claim).toMatchObject({ ok: true, value: { spec: { volumeName: "pv-1" } } });
    const volume = await claims.persistentVolume("pv-1", forever);
    expect(volume).toMatchObject({ ok: true, value: { spec: { capacity: { storage: "1Gi" } } } });
    const about = api.requests.filter(({ path }) => path.includes("persistentvolume"));
    expect(about).toEqual([
      { method: "GET", path: claimPath },
      { method: "GET", path: "/api/v1/persistentvolumes/pv-1" },
    ]);
  });

  test("fail with the API server's own words", async () => {
    const { api, claims } = world();
    expect(await claims.claim("ns", "none", forever)).toEqual({
      ok: false,
      error: 'persistentvolumeclaims "none" not found',
    });
    expect(await claims.persistentVolume("none", forever)).toEqual({
      ok: false,
      error: 'persistentvolumes "none" not found',
    });
    api.intercept(() => {
      throw new ApiError(403, "Forbidden", "no relationship found between node and this object");
    });
    expect(await claims.claim("ns", "data", forever)).toEqual({
      ok: false,
      error: "no relationship found between node and this object",
    });
  });

  test("are not waited for longer than 30 s, and an abort throws", async () => {
    const { api, clock, claims } = world();
    api.intercept(({ path }) => (path === claimPath ? new Promise(() => undefined) : undefined));
    const read = claims.claim("ns", "data", forever);
    await clock.advance(30_000);
    expect(await read).toEqual({
      ok: false,
      error: `GET ${claimPath} took longer than 30 s`,
    });
    const gone = AbortSignal.abort(new Error("the pod is gone"));
    await expect(claims.claim("ns", "data", gone)).rejects.toThrow("the pod is gone");
  });

  test("have no volume before the CSIDriver objects were listed, on which its attachment depends", async () => {
    const { api, clock, claims, follow } = world({ isFollowing: false });
    api.put("/api/v1/persistentvolumes/pv-1", { spec: {} });
    const early = claims.persistentVolume("pv-1", forever);
    await clock.advance(30_000);
    expect(await early).toEqual({
      ok: false,
      error: "the list of CSIDriver objects took longer than 30 s",
    });
    api.put(`${driversPath}/csi.example.com`, { spec: { attachRequired: false } });
    const late = claims.persistentVolume("pv-1", forever);
    follow();
    expect(await late).toMatchObject({ ok: true });
    expect(claims.csiDriver("csi.example.com")?.spec).toEqual({ attachRequired: false });
    expect(claims.csiDriver("other")).toBeUndefined();
  });

  test("get their status by a merge patch", async () => {
    const { api, claims } = world();
    const claim = api.put(claimPath, { status: { phase: "Bound", capacity: { storage: "1Gi" } } });
    const patch = { status: { capacity: { storage: "2Gi" } } };
    const patched = await claims.patchStatus(claim, patch, forever);
    expect(patched.status).toEqual({ phase: "Bound", capacity: { storage: "2Gi" } });
    expect(api.requests.at(-1)).toEqual({
      method: "PATCH",
      path: `${claimPath}/status`,
      body: patch,
      patchType: "merge",
    });
  });

  test("have events of their own", async () => {
    const { api, claims } = world();
    const claim = api.put(claimPath, { metadata: { uid: "uid-1" } });
    claims.record(claim, { type: "Normal", reason: "FileSystemResizeSuccessful", message: "grew" });
    await settle();
    expect(api.list("/api/v1/namespaces/ns/events")).toMatchObject([
      {
        metadata: { namespace: "ns" },
        involvedObject: {
          kind: "PersistentVolumeClaim",
          apiVersion: "v1",
          namespace: "ns",
          name: "data",
          uid: "uid-1",
          resourceVersion: claim.metadata?.resourceVersion,
        },
        reason: "FileSystemResizeSuccessful",
        message: "grew",
        source: { component: "kubelet", host: "node-a" },
      },
    ]);
  });
});

test("CSIDriver objects are watched, and who depends on one is notified", async () => {
  const { api, csiDrivers, changedDrivers } = world();
  await settle();
  api.put(`${driversPath}/a`, { spec: { podInfoOnMount: true } });
  await settle();
  expect([...csiDrivers.items.keys()]).toEqual(["a"]);
  api.remove(`${driversPath}/a`);
  await settle();
  expect(changedDrivers).toEqual([[], ["a"], ["a"]]);
});
