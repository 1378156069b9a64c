import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Server,
  ServerCredentials,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NodeService } from "../../generated/csi.ts";
import {
  NodeServiceCapability_RPC_Type as Capability,
  VolumeCapability_AccessMode_Mode as Mode,
} from "../../model/generated/csi.ts";
import type { CsiNodeClient } from "../../ports/csi-drivers.ts";
import { createCsiDrivers } from "./csi-drivers.ts";

const signal = (): AbortSignal => AbortSignal.timeout(30_000);

let folder: string;
let socket: string;
let server: Server | undefined;
let client: CsiNodeClient;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-csi-"));
  socket = join(folder, "csi.sock");
  client = createCsiDrivers().connect(socket);
});

afterEach(() => {
  stop();
  rmSync(folder, { recursive: true });
});

type Done = (error: object | null, response?: object) => void;

/** Answers with `methods`; every other call is unimplemented. */
function serve(methods: UntypedServiceImplementation): Promise<void> {
  const started = new Server();
  server = started;
  started.addService(NodeService, methods);
  return new Promise((resolve, reject) => {
    started.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

function stop(): void {
  server?.forceShutdown();
  server = undefined;
}

test("a driver receives the fields of a request, and the kubelet's deadline", async () => {
  const seen: { request: unknown; leftMs: number }[] = [];
  await serve({
    nodeStageVolume: (call: { request: unknown; getDeadline(): Date | number }, done: Done) => {
      seen.push({ request: call.request, leftMs: Number(call.getDeadline()) - Date.now() });
      done(null, {});
    },
  });
  await client.stageVolume(
    {
      volumeId: "vol-1",
      stagingTargetPath: "/staged",
      secrets: { password: "p w\n" },
      volumeCapability: {
        mount: { fsType: "xfs", mountFlags: ["ro"], volumeMountGroup: "2000" },
        accessMode: { mode: Mode.SINGLE_NODE_SINGLE_WRITER },
      },
    },
    signal(),
  );
  expect(seen[0]?.request).toEqual({
    volumeId: "vol-1",
    stagingTargetPath: "/staged",
    publishContext: {},
    volumeContext: {},
    secrets: { password: "p w\n" },
    volumeCapability: {
      mount: { fsType: "xfs", mountFlags: ["ro"], volumeMountGroup: "2000" },
      block: undefined,
      accessMode: { mode: 6 },
    },
  });
  expect(seen[0]?.leftMs).toBeLessThanOrEqual(120_000);
  expect(seen[0]?.leftMs).toBeGreaterThan(60_000);
});

test("answers come back as plain data", async () => {
  await serve({
    nodeGetInfo: (_: unknown, done: Done) =>
      done(null, {
        nodeId: "n-1",
        maxVolumesPerNode: 2n ** 40n,
        accessibleTopology: { segments: { "topology.example.com/zone": "a" } },
      }),
    nodeGetCapabilities: (_: unknown, done: Done) =>
      done(null, { capabilities: [{ rpc: { type: Capability.EXPAND_VOLUME } }] }),
    nodeGetVolumeStats: (_: unknown, done: Done) =>
      done(null, { usage: [{ unit: 1, total: 2n ** 60n, used: 5n, available: 0n }] }),
    nodeExpandVolume: (_: unknown, done: Done) => done(null, { capacityBytes: 7n }),
  });
  expect(await client.getInfo(signal())).toMatchObject({
    nodeId: "n-1",
    maxVolumesPerNode: 2n ** 40n,
    accessibleTopology: { segments: { "topology.example.com/zone": "a" } },
  });
  expect(await client.getCapabilities(signal())).toMatchObject([{ rpc: { type: 3 } }]);
  const stats = await client.getVolumeStats({ volumeId: "v", volumePath: "/p" }, signal());
  expect(stats.usage).toMatchObject([{ unit: 1, total: 2n ** 60n, used: 5n, available: 0n }]);
  expect(await client.expandVolume({ volumeId: "v" }, signal())).toMatchObject({
    capacityBytes: 7n,
  });
});

test.each([
  [status.INTERNAL, "Internal", "Internal"],
  [status.CANCELLED, "Cancelled", "Canceled"],
  [status.NOT_FOUND, "NotFound", "NotFound"],
  [status.RESOURCE_EXHAUSTED, "ResourceExhausted", "ResourceExhausted"],
] as const)(
  "a failure with status %s has its code, and its text as Go prints it",
  async (code, name, shown) => {
    await serve({
      nodePublishVolume: (_: unknown, done: Done) => done({ code, details: 'ünmöglich: "x"' }),
    });
    await expect(client.publishVolume({ volumeId: "v" }, signal())).rejects.toMatchObject({
      name: "CsiCallError",
      code: name,
      message: `rpc error: code = ${shown} desc = ünmöglich: "x"`,
    });
  },
);

test("a driver that does not know a call answers Unimplemented", async () => {
  await serve({});
  await expect(client.unstageVolume({ volumeId: "v" }, signal())).rejects.toMatchObject({
    code: "Unimplemented",
  });
});

test("a call that gets no answer ends at its deadline", async () => {
  await serve({ nodeUnpublishVolume: () => undefined });
  const hurried = createCsiDrivers({ timeoutMs: 100 }).connect(socket);
  await expect(hurried.unpublishVolume({ volumeId: "v" }, signal())).rejects.toMatchObject({
    code: "DeadlineExceeded",
    message: "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
  });
});

test("an abort cancels the call in the driver too", async () => {
  const abort = new AbortController();
  let isCancelled = false;
  await serve({
    nodeUnstageVolume: (call: { on(event: "cancelled", listener: () => void): void }) => {
      call.on("cancelled", () => {
        isCancelled = true;
      });
      abort.abort(new Error("shutting down"));
    },
  });
  await expect(client.unstageVolume({ volumeId: "v" }, abort.signal)).rejects.toMatchObject({
    code: "Cancelled",
  });
  await expect.poll(() => isCancelled, { timeout: 30_000 }).toBe(true);
});

test("a driver that is away is Unavailable, and is found again when it is back", async () => {
  const away = {
    code: "Unavailable",
    message: `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix ${socket}: connect: no such file or directory"`,
  };
  await expect(client.getCapabilities(signal())).rejects.toMatchObject(away);
  const methods = {
    nodeGetCapabilities: (_: unknown, done: Done) => done(null, { capabilities: [] }),
  };
  await serve(methods);
  expect(await client.getCapabilities(signal())).toEqual([]);
  stop();
  rmSync(socket, { force: true });
  await expect(client.getCapabilities(signal())).rejects.toMatchObject(away);
  await serve(methods);
  expect(await client.getCapabilities(signal())).toEqual([]);
});

test("a driver that dies during a call leaves it Unavailable", async () => {
  await serve({ nodeStageVolume: () => stop() });
  await expect(client.stageVolume({ volumeId: "v" }, signal())).rejects.toMatchObject({
    code: "Unavailable",
    message: "rpc error: code = Unavailable desc = error reading from server: EOF",
  });
});

test("a driver that was replaced is called, although the one before it still runs", async () => {
  const answering = (nodeId: string): UntypedServiceImplementation => ({
    nodeGetInfo: (_: unknown, done: Done) => done(null, { nodeId, maxVolumesPerNode: 0n }),
  });
  await serve(answering("old"));
  const old = server;
  expect(await client.getInfo(signal())).toMatchObject({ nodeId: "old" });
  rmSync(socket);
  await serve(answering("new"));
  expect(await client.getInfo(signal())).toMatchObject({ nodeId: "new" });
  old?.forceShutdown();
});
