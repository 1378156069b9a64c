import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials, makeGenericClientConstructor, type ServiceError } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { PodResourcesListerService } from "../../generated/pod-resources.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { SocketServer } from "../../ports/socket-server.ts";
import { encodeFrame } from "./grpc-frames.ts";
import { type GrpcHandler, serveGrpc } from "./grpc-server.ts";

const path = PodResourcesListerService.get.path;

let folder: string;
let socketPath: string;
let server: SocketServer | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-grpc-"));
  socketPath = join(folder, "kubelet.sock");
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

async function serve(
  handle: GrpcHandler["handle"],
  options: { isAllowed?: () => boolean; transferTimeoutMs?: number } = {},
): Promise<void> {
  server = await serveGrpc({ socketPath, handlers: [{ path, handle }], ...options });
}

const answerNothing = async (): Promise<Uint8Array> => Buffer.alloc(0);

/** Calls with the gRPC client of Node; resolves to the answer or the failure. */
function call(name: string, method = "get"): Promise<unknown> {
  const Client = makeGenericClientConstructor(PodResourcesListerService, "PodResourcesLister");
  const client = new Client(`unix://${socketPath}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const send = client[method]?.bind(client) as (
    request: object,
    done: (error: ServiceError | null, response: unknown) => void,
  ) => void;
  return new Promise((resolve) => {
    send({ podName: name, podNamespace: "" }, (error, response) => resolve(error ?? response));
  });
}

/** A stream of a plain HTTP/2 client: its status, and how it ended. */
function request(
  headers: OutgoingHttpHeaders,
  body: Buffer | undefined,
): Promise<{ status: unknown; reset: number }> {
  const session = connectHttp2("http://localhost", { createConnection: () => connect(socketPath) });
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    ...headers,
  });
  let status: unknown;
  stream.on("response", (answer) => {
    status = answer["grpc-status"];
  });
  stream.on("trailers", (trailers) => {
    status = trailers["grpc-status"];
  });
  stream.on("error", () => undefined);
  stream.resume();
  if (body === undefined) stream.write(Buffer.from([0]));
  else stream.end(body);
  return new Promise((resolve) =>
    stream.on("close", () => resolve({ status, reset: stream.rstCode ?? 0 })),
  );
}

test("a call is answered, however long the answer", async () => {
  const name = "n".repeat(40_000);
  await serve(async () => {
    const answer = { podResources: { name, namespace: "", containers: [] } };
    return PodResourcesListerService.get.responseSerialize(answer);
  });
  expect(await call("a")).toMatchObject({ podResources: { name } });
});

test("what a handler throws is the answer, in any language", async () => {
  await serve(async () => {
    throw new Error('pod "ü" %41\nnot found');
  });
  expect(await call("a")).toMatchObject({ code: 2, details: 'pod "ü" %41\nnot found' });
  await server?.close();
  await serve(async () => {
    throw new RuntimeError("", "NotFound", "gone");
  });
  expect(await call("a")).toMatchObject({ code: 5, details: "gone" });
});

test("a call that is not known, or one too many, does not reach the handler", async () => {
  let allowed = 1;
  let taken = 0;
  await serve(
    async (message) => {
      taken++;
      return message.subarray(0, 0);
    },
    { isAllowed: () => allowed-- > 0 },
  );
  expect(await call("a", "list")).toMatchObject({ code: 12 });
  expect(await call("a")).not.toBeInstanceOf(Error);
  expect(await call("a")).toMatchObject({ code: 8, details: "rejected by rate limit" });
  expect(taken).toBe(1);
});

test("messages that are too long, cut, compressed or missing fail their call alone", async () => {
  await serve(answerNothing);
  const tooLong = Buffer.concat([Buffer.from([0, 0, 1, 0, 1]), Buffer.alloc(65_537)]);
  expect(await request({}, tooLong)).toMatchObject({ status: "8" });
  expect(await request({}, Buffer.from([1, 0, 0, 0, 0]))).toMatchObject({ status: "8" });
  expect(await request({}, Buffer.from([0, 0, 0, 0, 9, 1]))).toMatchObject({ status: "13" });
  expect(await request({}, Buffer.alloc(0))).toMatchObject({ status: "13" });
  expect(await request({ "content-type": "text/html" }, Buffer.alloc(0))).toMatchObject({
    status: "3",
  });
  expect(await request({}, encodeFrame(Buffer.from("x")))).toMatchObject({ status: "0" });
});

test("a caller that does not send its message is dropped, and so is one that speaks no HTTP/2", async () => {
  await serve(answerNothing, { transferTimeoutMs: 50 });
  expect(await request({}, undefined)).toMatchObject({ status: undefined, reset: 8 });
  const closed = (bytes: string): Promise<void> =>
    new Promise((resolve) => {
      const socket: Socket = connect(socketPath, () => socket.write(bytes));
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
      socket.resume();
    });
  await closed("");
  await closed("GET / HTTP/1.1\r\n\r\n");
  await closed("\0".repeat(100_000));
  await closed("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
});

test("the signal of a handler aborts when the caller has gone", async () => {
  let onCalled: (signal: AbortSignal) => void = () => undefined;
  const called = new Promise<AbortSignal>((resolve) => {
    onCalled = resolve;
  });
  await serve((_, signal) => {
    onCalled(signal);
    return new Promise<never>(() => undefined);
  });
  const session = connectHttp2("http://localhost", { createConnection: () => connect(socketPath) });
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
  });
  stream.on("error", () => undefined);
  stream.end(encodeFrame(Buffer.alloc(0)));
  const signal = await called;
  expect(signal.aborted).toBe(false);
  session.destroy();
  await expect.poll(() => signal.aborted, { timeout: 30_000 }).toBe(true);
});

test("the socket of an agent that was killed is replaced, and goes with the server", async () => {
  const listen = `require("net").createServer().listen(${JSON.stringify(socketPath)}, () => console.log())`;
  const killed = spawn(process.execPath, ["-e", listen], { stdio: ["ignore", "pipe", "inherit"] });
  await once(killed.stdout, "data");
  killed.kill("SIGKILL");
  await once(killed, "exit");
  expect(existsSync(socketPath)).toBe(true);
  await serve(answerNothing);
  expect(lstatSync(socketPath).mode & 0o7777).toBe(0o755);
  expect(await call("a")).not.toBeInstanceOf(Error);
  await server?.close();
  expect(existsSync(socketPath)).toBe(false);
});

test("what is not a socket is not removed", async () => {
  writeFileSync(join(folder, "state"), "kept");
  symlinkSync(join(folder, "state"), socketPath);
  await expect(serve(answerNothing)).rejects.toThrow(`${socketPath} is not a socket`);
  expect(lstatSync(socketPath).isSymbolicLink()).toBe(true);
});

test("an open connection does not hold up the end of the server", async () => {
  await serve(() => new Promise<never>(() => undefined));
  const session = connectHttp2("http://localhost", { createConnection: () => connect(socketPath) });
  session.on("error", () => undefined);
  const lost = new Promise<string>((resolve) => session.on("close", () => resolve("lost")));
  await new Promise((resolve) => session.on("remoteSettings", resolve));
  await server?.close();
  expect(await lost).toBe("lost");
});
