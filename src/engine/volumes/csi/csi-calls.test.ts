import { expect, test } from "vitest";
import { CsiCallError } from "../../../model/csi-call-error.ts";
import { NodeServiceCapability_RPC_Type as Capability } from "../../../model/generated/csi.ts";
import type { CsiNodeClient } from "../../../ports/csi-drivers.ts";
import { CsiDriverRegistry } from "../../plugins/csi-driver-registry.ts";
import { CsiClients } from "./csi-calls.ts";

const never = new AbortController().signal;

function clients(client: Partial<CsiNodeClient>) {
  const observed: unknown[] = [];
  const connected: string[] = [];
  const registry = new CsiDriverRegistry();
  let nowMs = 0;
  const opened = new CsiClients({
    registry,
    drivers: {
      connect: (endpoint) => {
        connected.push(endpoint);
        return client as CsiNodeClient;
      },
    },
    metrics: {
      increment: () => undefined,
      set: () => undefined,
      reset: () => undefined,
      drop: () => undefined,
      observe: (...observation) => observed.push(observation),
    },
    // Each look at the clock finds it half a second later.
    clock: {
      nowMs: () => 0,
      monotonicMs: () => {
        nowMs += 500;
        return nowMs;
      },
      startTimer: () => ({ stop: () => undefined }),
      sleep: () => Promise.resolve(),
    },
  });
  const register = (name: string, endpoint: string): void =>
    registry.set(name, { endpoint, version: { components: [1n] } });
  return { opened, register, registry, observed, connected };
}

test("a driver is found by the name it registered with, as long as it is registered", () => {
  const { opened, register, registry, connected } = clients({});
  const message = "driver name a.example.com not found in the list of registered CSI drivers";
  expect(opened.open("a.example.com", false)).toEqual({ ok: false, error: message });
  register("a.example.com", "/a.sock");
  expect(opened.open("a.example.com", false)).toMatchObject({ ok: true });
  expect(connected).toEqual(["/a.sock"]);
  registry.delete("a.example.com");
  expect(opened.open("a.example.com", false)).toEqual({ ok: false, error: message });
  expect(opened.open("", false)).toEqual({ ok: false, error: "driver name is empty" });
});

test("every call is measured, by its method and the status it ended with", async () => {
  const { opened, register, observed } = clients({
    getCapabilities: async () => [{ rpc: { type: Capability.EXPAND_VOLUME } }],
    unstageVolume: () => Promise.reject(new CsiCallError("Cancelled", "busy")),
  });
  register("a.example.com", "/a.sock");
  const calls = opened.open("a.example.com", true);
  if (!calls.ok) throw new Error(calls.error);
  expect(await calls.value.supports(Capability.EXPAND_VOLUME, never)).toEqual({
    ok: true,
    value: true,
  });
  expect(await calls.value.unstage("vol-1", "/staged", never)).toEqual({
    ok: false,
    error: {
      kind: "uncertain",
      code: "Cancelled",
      message: "rpc error: code = Canceled desc = busy",
    },
  });
  const labels = { driver_name: "a.example.com", migrated: "true" };
  expect(observed).toEqual([
    [
      "csi_operations_seconds",
      0.5,
      { ...labels, method_name: "/csi.v1.Node/NodeGetCapabilities", grpc_status_code: "OK" },
    ],
    [
      "csi_operations_seconds",
      0.5,
      { ...labels, method_name: "/csi.v1.Node/NodeUnstageVolume", grpc_status_code: "Canceled" },
    ],
  ]);
});

test("a volume without a handle is not asked of the driver", async () => {
  const { opened, register, observed } = clients({});
  register("a.example.com", "/a.sock");
  const calls = opened.open("a.example.com", false);
  if (!calls.ok) throw new Error(calls.error);
  const missing = { ok: false, error: { kind: "final", message: "missing volume id" } };
  expect(await calls.value.unpublish("", "/target", never)).toEqual(missing);
  expect(await calls.value.unstage("", "/staged", never)).toEqual(missing);
  expect(observed).toEqual([]);
});

test("an abort is not a failure of the driver", async () => {
  const abort = new AbortController();
  const { opened, register } = clients({
    unstageVolume: () => {
      abort.abort(new Error("shutting down"));
      return Promise.reject(new CsiCallError("Cancelled", "context canceled"));
    },
  });
  register("a.example.com", "/a.sock");
  const calls = opened.open("a.example.com", false);
  if (!calls.ok) throw new Error(calls.error);
  await expect(calls.value.unstage("vol-1", "/staged", abort.signal)).rejects.toThrow(
    "shutting down",
  );
});
