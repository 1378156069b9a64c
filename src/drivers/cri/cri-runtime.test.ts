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
import {
  ContainerEventResponse,
  ExecSyncResponse,
  ImageServiceService,
  ListImagesResponse,
  RuntimeServiceService,
  StatusResponse,
  VersionResponse,
} from "../../generated/cri.ts";
import { ContainerEventType } from "../../model/generated/cri.ts";
import { runtimeContainerId } from "../../model/ids.ts";
import type { RuntimeEvent } from "../../ports/runtime-events.ts";
import type { GrpcCall } from "../grpc/grpc-connection.ts";
import { createCriEvents } from "./cri-events.ts";
import { type CriRuntime, createCriRuntime } from "./cri-runtime.ts";
import { waitForRuntime } from "./wait-for-runtime.ts";

const signal = (): AbortSignal => AbortSignal.timeout(10_000);
const unused: UntypedServiceImplementation = {};

let folder: string;
let socket: string;
let server: Server | undefined;
let runtime: CriRuntime;
const calls: GrpcCall[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-cri-"));
  socket = join(folder, "cri.sock");
  calls.length = 0;
  runtime = createCriRuntime(`unix://${socket}`, { onCall: (call) => calls.push(call) });
});

afterEach(() => {
  runtime.close();
  server?.forceShutdown();
  server = undefined;
  rmSync(folder, { recursive: true });
});

/** Answers with `methods`; every other call is unimplemented. */
function serve(methods: UntypedServiceImplementation): Promise<void> {
  const started = new Server();
  server = started;
  started.addService(RuntimeServiceService, { ...unused, ...methods });
  started.addService(ImageServiceService, { ...unused, ...methods });
  return new Promise((resolve, reject) => {
    started.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

/** A handler that keeps the request and the time left for it, and answers. */
function answering(response: object): {
  readonly handler: UntypedServiceImplementation[string];
  readonly seen: { request: unknown; leftMs: number }[];
} {
  const seen: { request: unknown; leftMs: number }[] = [];
  return {
    seen,
    handler: (call: { request: unknown; getDeadline(): Date | number }, done: Done) => {
      seen.push({ request: call.request, leftMs: Number(call.getDeadline()) - Date.now() });
      done(null, response);
    },
  };
}

type Done = (error: object | null, response?: object) => void;

test("absent fields are proto3 defaults and 64-bit integers survive", async () => {
  const run = answering({ podSandboxId: "s" });
  await serve({ runPodSandbox: run.handler });
  const annotations = { a: "b" };
  const resources = { memoryLimitInBytes: 2n ** 60n };
  const config = { metadata: { name: "p" }, annotations, linux: { resources } };
  expect(await runtime.runPodSandbox(config, "runc", signal())).toBe("s");
  expect(run.seen[0]?.request).toMatchObject({
    runtimeHandler: "runc",
    config: {
      metadata: { name: "p", uid: "", attempt: 0 },
      annotations,
      labels: {},
      linux: { resources: { memoryLimitInBytes: 2n ** 60n, cpuShares: 0n } },
    },
  });
});

test("each kind of call has its deadline", async () => {
  const run = answering({ podSandboxId: "s" });
  const stop = answering({});
  const exec = answering(ExecSyncResponse.fromPartial({ exitCode: 1 }));
  const pull = answering({ imageRef: "i" });
  await serve({
    runPodSandbox: run.handler,
    stopContainer: stop.handler,
    execSync: exec.handler,
    pullImage: pull.handler,
  });
  await runtime.runPodSandbox({}, "", signal());
  await runtime.stopContainer(runtimeContainerId("c"), 30, signal());
  await runtime.execSync(runtimeContainerId("c"), ["x"], 2, signal());
  await runtime.execSync(runtimeContainerId("c"), ["x"], 0, signal());
  await runtime.pullImage({ image: "i" }, undefined, undefined, signal());
  expect(calls.map(({ timeoutMs }) => timeoutMs)).toEqual([
    240_000,
    150_000,
    122_000,
    undefined,
    undefined,
  ]);
  expect(stop.seen[0]?.leftMs).toBeLessThanOrEqual(150_000);
  expect(stop.seen[0]?.leftMs).toBeGreaterThan(140_000);
  expect(exec.seen[1]?.leftMs).toBe(Number.POSITIVE_INFINITY);
});

test("a failure carries the runtime's code and words", async () => {
  await serve({
    containerStatus: (_: unknown, done: Done) =>
      done({ code: status.NOT_FOUND, details: 'container "x" is gone' }),
  });
  await expect(runtime.containerStatus(runtimeContainerId("x"), signal())).rejects.toMatchObject({
    name: "RuntimeError",
    code: "NotFound",
    method: "ContainerStatus",
    message: 'container "x" is gone',
  });
  expect(calls[0]).toMatchObject({ method: "ContainerStatus", error: { code: "NotFound" } });
  await expect(runtime.startContainer(runtimeContainerId("x"), signal())).rejects.toMatchObject({
    code: "Unimplemented",
  });
});

test("an abort cancels the call in the runtime too", async () => {
  const stop = new AbortController();
  let isCancelled = false;
  await serve({
    pullImage: (call: { on(event: "cancelled", listener: () => void): void }) => {
      call.on("cancelled", () => {
        isCancelled = true;
      });
      stop.abort(new Error("shutting down"));
    },
  });
  const pull = runtime.pullImage({ image: "i" }, undefined, undefined, stop.signal);
  await expect(pull).rejects.toMatchObject({ code: "Cancelled", message: "context canceled" });
  await expect.poll(() => isCancelled).toBe(true);
});

test("an empty id is an error, not an id", async () => {
  await serve({ runPodSandbox: answering({ podSandboxId: "" }).handler });
  await expect(runtime.runPodSandbox({}, "", signal())).rejects.toMatchObject({
    code: "Internal",
    message: expect.stringContaining("pod_sandbox_id"),
  });
});

test("a runtime that comes up later is reached within a moment", async () => {
  await expect(runtime.version(signal())).rejects.toMatchObject({ code: "Unavailable" });
  await serve({ version: answering({ runtimeName: "late" }).handler });
  const name = () => runtime.version(signal()).then(({ runtimeName }) => runtimeName, String);
  await expect.poll(name, { timeout: 2_000, interval: 10 }).toBe("late");
});

test("events of the CRI arrive once the stream is known to work", async () => {
  const sent = [
    { containerId: "a", containerEventType: ContainerEventType.CONTAINER_CREATED_EVENT },
    { containerId: "a", containerEventType: ContainerEventType.CONTAINER_STOPPED_EVENT },
    { containerId: "", containerEventType: ContainerEventType.CONTAINER_STOPPED_EVENT },
    { containerId: "b", containerEventType: ContainerEventType.CONTAINER_DELETED_EVENT },
  ];
  await serve({
    version: answering({}).handler,
    getContainerEvents: (stream: { write(message: object): void; end(): void }) => {
      for (const event of sent) stream.write(ContainerEventResponse.fromPartial(event));
      stream.end();
    },
  });
  const received: (RuntimeEvent | "subscribed")[] = [];
  const events = createCriEvents(runtime);
  const subscription = events.subscribe(
    () => received.push("subscribed"),
    (event) => received.push(event),
    signal(),
  );
  await expect(subscription).rejects.toMatchObject({ code: "Unavailable" });
  expect(received).toEqual([
    "subscribed",
    { containerId: "a", kind: "created" },
    { containerId: "a", kind: "stopped" },
    { containerId: "b", kind: "deleted" },
  ]);
  expect(calls.map(({ method }) => method)).toEqual(["Version"]);
});

test.each([
  ["containerd", "1.7.24~ds1", false],
  ["containerd", "v1.7.35", false],
  ["containerd", "v2.1.9", true],
  ["cri-o", "1.36.0", true],
])("events of the CRI of %s %s are relied on: %s", async (runtimeName, runtimeVersion, isUsed) => {
  await serve({
    version: answering({ runtimeName, runtimeVersion }).handler,
    getContainerEvents: (stream: { end(): void }) => stream.end(),
  });
  const events = createCriEvents(runtime);
  const subscription = events.subscribe(
    () => undefined,
    () => undefined,
    signal(),
  );
  await expect(subscription).rejects.toMatchObject({
    code: isUsed ? "Unavailable" : "Unimplemented",
  });
});

test("a quiet stream counts as subscribed when the runtime answers beside it", async () => {
  await serve({ version: answering({}).handler, getContainerEvents: () => undefined });
  const stop = new AbortController();
  let subscribed = 0;
  await createCriEvents(runtime).subscribe(
    () => {
      subscribed += 1;
      stop.abort();
    },
    () => undefined,
    stop.signal,
  );
  expect(subscribed).toBe(1);
});

test("a quiet stream of a runtime that refuses calls is closed", async () => {
  const refuse = (_call: unknown, callback: (error: object) => void): void =>
    callback({ code: 2, details: "server is not initialized yet" });
  await serve({ version: refuse, getContainerEvents: () => undefined });
  let subscribed = 0;
  const subscription = createCriEvents(runtime).subscribe(
    () => {
      subscribed += 1;
    },
    () => undefined,
    signal(),
  );
  await expect(subscription).rejects.toThrow("server is not initialized yet");
  expect(subscribed).toBe(0);
});

test("waiting ends when the runtime answers, cannot, or does not", async () => {
  await expect(waitForRuntime(runtime, 50, signal())).rejects.toThrow(/does not answer .*cri.sock/);
  await serve({ status: answering(StatusResponse.fromPartial({})).handler });
  await waitForRuntime(runtime, 5_000, signal());
  server?.forceShutdown();
  rmSync(socket, { force: true });
  await serve({});
  await expect(waitForRuntime(runtime, 5_000, signal())).rejects.toThrow("disabled_plugins");
});

test("an endpoint that is not a unix socket is refused", () => {
  expect(() => createCriRuntime("tcp://127.0.0.1:1")).toThrow("use unix:///path/to/runtime.sock");
});

test("images are asked for at an endpoint of their own, and the configured timeout counts there and here", async () => {
  const images = answering(ListImagesResponse.fromPartial({}));
  const version = answering(VersionResponse.fromPartial({ runtimeName: "test" }));
  await serve({ version: version.handler });
  const imageSocket = join(folder, "images.sock");
  const imageServer = new Server();
  imageServer.addService(ImageServiceService, { ...unused, listImages: images.handler });
  await new Promise<void>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    imageServer.bindAsync(`unix://${imageSocket}`, credentials, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  const apart = createCriRuntime(`unix://${socket}`, {
    imageEndpoint: `unix://${imageSocket}`,
    timeoutMs: 30_000,
  });
  try {
    expect(await apart.listImages(signal())).toEqual([]);
    await apart.version(signal());
    for (const { leftMs } of [...images.seen, ...version.seen]) {
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(30_000);
    }
    expect(images.seen).toHaveLength(1);
  } finally {
    apart.close();
    imageServer.forceShutdown();
  }
});
