import { expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { CSIDriver } from "../../model/generated/kubernetes.ts";
import { ApiCsiObjects } from "./api-csi-objects.ts";
import { Reflector } from "./reflector.ts";

const driversPath = "/apis/storage.k8s.io/v1/csidrivers";
const attachmentsPath = "/apis/storage.k8s.io/v1/volumeattachments";

function world() {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  const csiDrivers = new Reflector<CSIDriver>({
    api,
    clock,
    random: () => 0,
    log: silentLog,
    path: driversPath,
  });
  return { api, csiDrivers, objects: new ApiCsiObjects({ api, clock, csiDrivers }) };
}

test("drivers are known once they were listed, and then also that there is none", async () => {
  const { api, csiDrivers, objects } = world();
  const stop = new AbortController();
  api.put(`${driversPath}/a.example.com`, { spec: { attachRequired: false } });
  expect(objects.csiDriver("a.example.com")).toMatchObject({
    ok: false,
    error: "failed to wait for cache sync for CSIDriverLister",
  });
  const running = csiDrivers.run(stop.signal);
  await csiDrivers.whenSynced(AbortSignal.timeout(30_000));
  expect(objects.csiDriver("a.example.com")).toMatchObject({
    ok: true,
    value: { spec: { attachRequired: false } },
  });
  expect(objects.csiDriver("b.example.com")).toEqual({ ok: true, value: undefined });
  stop.abort();
  await running;
});

test("attachments and secrets are read each time, and a failure has the server's words", async () => {
  const { api, objects } = world();
  const { signal } = new AbortController();
  expect(await objects.volumeAttachment("csi-1", signal)).toMatchObject({
    ok: false,
    error: { code: "not-found" },
  });
  api.put(`${attachmentsPath}/csi-1`, { status: { attached: true } });
  expect(await objects.volumeAttachment("csi-1", signal)).toMatchObject({
    ok: true,
    value: { status: { attached: true } },
  });
  api.put("/api/v1/namespaces/ns/secrets/login", { data: { user: "dQ==" } });
  expect(await objects.secret("ns", "login", signal)).toMatchObject({
    ok: true,
    value: { data: { user: "dQ==" } },
  });
  api.goDown();
  expect(await objects.secret("ns", "login", signal)).toMatchObject({
    ok: false,
    error: { code: "failed" },
  });
});

test("an abort is not an answer of the server", async () => {
  const { objects } = world();
  const stop = new AbortController();
  stop.abort(new Error("shutting down"));
  await expect(objects.volumeAttachment("csi-1", stop.signal)).rejects.toThrow("shutting down");
});
