import { Resolver } from "node:dns/promises";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { Server as GrpcServer, status as grpcStatus, ServerCredentials } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { ExecSyncResponse } from "../../model/generated/cri.ts";
import type { Probe } from "../../model/generated/kubernetes.ts";
import { containerId, podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { PodNames } from "./pod-names.ts";
import { newProbeRunner } from "./probe-runner.ts";

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

const container = { name: "c", image: "i", ports: [{ name: "web", containerPort: 1 }] };
const pod: Pod = buildPod({
  metadata: { name: "a", namespace: "ns", uid: podUid("1") },
  spec: { containers: [container] },
});
const never = new AbortController().signal;

function run(
  probe: Probe,
  execSync: () => Promise<ExecSyncResponse> = () => Promise.reject(new Error("no runtime")),
  signal: AbortSignal = never,
  names: PodNames = new PodNames(),
) {
  const status = { podIP: "127.0.0.1" };
  const about = { kind: "liveness", containerId: containerId("containerd://abc") } as const;
  const request = { ...about, probe, pod, container, status };
  return newProbeRunner({ execSync, names }).run(request, signal);
}

function listen(server: Server): Promise<number> {
  cleanUps.push(() => server.close());
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function serve(handler: RequestListener): Promise<number> {
  const server = createHttpServer(handler);
  cleanUps.push(() => server.closeAllConnections());
  return listen(server);
}

async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

function passBytes(bytes: Buffer): Buffer {
  return bytes;
}

async function serveHealth(answer: Buffer | undefined): Promise<number> {
  const server = new GrpcServer();
  const method = {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: passBytes,
    requestDeserialize: passBytes,
    responseSerialize: passBytes,
    responseDeserialize: passBytes,
  } as const;
  if (answer !== undefined) {
    server.addService(
      { Check: method },
      {
        Check: (
          call: { request: Buffer },
          reply: (error: object | null, bytes?: Buffer) => void,
        ) => {
          if (call.request.length === 0) reply(null, answer);
          else
            reply({
              code: grpcStatus.NOT_FOUND,
              details: `unknown ${call.request.toString("utf8", 2)}`,
            });
        },
      },
    );
  }
  cleanUps.push(() => server.forceShutdown());
  return await new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

describe("httpGet", () => {
  test("sends the wanted headers and Host, and answers with the body", async () => {
    const seen: unknown[] = [];
    const port = await serve((request, response) => {
      seen.push(request.url, request.rawHeaders);
      response.end("fine");
    });
    const httpHeaders = [
      { name: "x-test", value: "1" },
      { name: "host", value: "example.com" },
    ];
    const outcome = await run({ httpGet: { path: "/a b?c", port, httpHeaders } });
    expect(outcome).toEqual({ result: "success", output: "fine" });
    expect(seen[0]).toBe("/a%20b?c");
    expect(seen[1]).toEqual([
      "X-Test",
      "1",
      "Host",
      "example.com",
      "User-Agent",
      "kube-probe/1.36",
      "Accept",
      "*/*",
      "Connection",
      "close",
    ]);
  });

  test("does not repeat what a server says with an error", async () => {
    const port = await serve((_request, response) => {
      response.writeHead(500, "canary", { "X-Canary": "canary" }).end("canary");
    });
    expect(await run({ httpGet: { port } })).toEqual({
      result: "failure",
      output: "HTTP probe failed with statuscode: 500",
    });
  });

  test("keeps no more than 10 KiB of the body", async () => {
    const port = await serve((_request, response) => response.end("x".repeat(50_000)));
    const { output } = await run({ httpGet: { port } });
    expect(output).toHaveLength(10 * 1024);
  });

  test("follows a redirect to the same host and warns of one that leaves it", async () => {
    const port = await serve((request, response) => {
      const location = request.url === "/here" ? "/there" : "http://elsewhere.example/";
      if (request.url === "/there") response.end("arrived");
      else response.writeHead(302, { location }).end("moved");
    });
    expect(await run({ httpGet: { port, path: "/here" } })).toEqual({
      result: "success",
      output: "arrived",
    });
    expect(await run({ httpGet: { port, path: "/away" } })).toEqual({
      result: "warning",
      output: "Probe terminated redirects, Response body: moved",
    });
  });

  test("stops after ten redirects", async () => {
    const port = await serve((_request, response) => {
      response.writeHead(302, { location: "/again" }).end();
    });
    expect(await run({ httpGet: { port } })).toEqual({
      result: "failure",
      output: `Get "http://127.0.0.1:${port}/again": stopped after 10 redirects`,
    });
  });

  test("fails without an answer in time, or at all", async () => {
    const port = await serve(() => undefined);
    expect(await run({ httpGet: { port }, timeoutSeconds: 0.05 })).toEqual({
      result: "failure",
      output: `Get "http://127.0.0.1:${port}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    });
    const closed = await closedPort();
    expect(await run({ httpGet: { port: closed } })).toEqual({
      result: "failure",
      output: `Get "http://127.0.0.1:${closed}": dial tcp 127.0.0.1:${closed}: connect: connection refused`,
    });
  });

  test("a body that breaks off says nothing about the container", async () => {
    const port = await serve((_request, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("start", () => response.destroy());
    });
    expect(await run({ httpGet: { port } })).toEqual({
      result: "error",
      state: "failure",
      output: "unexpected EOF",
    });
  });

  test("a pod has 16 probes at once, and another pod's do not wait for them", async () => {
    let open = 0;
    const port = await serve((request, response) => {
      if (request.url === "/other") response.end();
      else open += 1;
    });
    const runner = newProbeRunner({ execSync: () => Promise.reject(), names: new PodNames() });
    const ends = Array.from({ length: 20 }, () => new AbortController());
    const probe = (uid: string, path: string, signal: AbortSignal) => {
      const probed = { ...pod, metadata: { ...pod.metadata, uid: podUid(uid) } };
      const about = {
        kind: "liveness",
        status: { podIP: "127.0.0.1" },
        containerId: containerId("x"),
      } as const;
      const action = { httpGet: { port, path }, timeoutSeconds: 60 };
      return runner.run({ ...about, probe: action, pod: probed, container }, signal);
    };
    const running = Promise.allSettled(ends.map(({ signal }) => probe("many", "/", signal)));
    await expect.poll(() => open).toBe(16);
    expect(await probe("other", "/other", never)).toMatchObject({ result: "success" });
    expect(open).toBe(16);
    for (const end of ends) end.abort();
    await running;
  });

  test("an unknown port name is an error of the probe", async () => {
    expect(await run({ httpGet: { port: "nope" } })).toEqual({
      result: "error",
      state: "unknown",
      output: 'strconv.Atoi: parsing "nope": invalid syntax',
    });
  });

  test("an aborted probe rejects", async () => {
    const port = await serve(() => undefined);
    const controller = new AbortController();
    const running = run({ httpGet: { port } }, undefined, controller.signal);
    controller.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
  });
});

describe("tcpSocket", () => {
  test("succeeds on an open port and fails on a closed one", async () => {
    const port = await listen(createTcpServer());
    expect(await run({ tcpSocket: { port } })).toEqual({ result: "success", output: "" });
    const closed = await closedPort();
    expect(await run({ tcpSocket: { port: closed } })).toEqual({
      result: "failure",
      output: `dial tcp 127.0.0.1:${closed}: connect: connection refused`,
    });
  });

  test("an aborted probe rejects", async () => {
    await expect(
      run({ tcpSocket: { port: 1 } }, undefined, AbortSignal.abort(new Error("stopped"))),
    ).rejects.toThrow("stopped");
  });
});

test("an unknown name fails a probe with the text of a lookup", async () => {
  const newResolver = () => {
    const resolver = new Resolver();
    // Nothing listens there.
    resolver.setServers(["127.0.0.1:1"]);
    return resolver;
  };
  const empty = "/dev/null";
  const names = new PodNames({ hostsPath: empty, resolverConfigPath: empty, newResolver });
  const fail = (probe: Probe) => run(probe, undefined, never, names);
  const host = "nowhere.test";
  expect(await fail({ tcpSocket: { host, port: 80 } })).toEqual({
    result: "failure",
    output: "dial tcp: lookup nowhere.test: connection refused",
  });
  expect(await fail({ httpGet: { host, port: 80 } })).toEqual({
    result: "failure",
    output: 'Get "http://nowhere.test:80": dial tcp: lookup nowhere.test: connection refused',
  });
});

describe("exec", () => {
  test("the exit code decides, and both outputs are kept", async () => {
    const response = { stdout: Buffer.from("out"), stderr: Buffer.from("err") };
    const probe = { exec: { command: ["x"] } };
    expect(await run(probe, () => Promise.resolve({ ...response, exitCode: 0 }))).toEqual({
      result: "success",
      output: "outerr",
    });
    expect(await run(probe, () => Promise.resolve({ ...response, exitCode: 3 }))).toEqual({
      result: "failure",
      output: "outerr",
    });
  });

  test("a command that takes too long fails, a broken runtime is an error of the probe", async () => {
    const probe = { exec: { command: ["sleep", "9"] }, timeoutSeconds: 2 };
    const late = new RuntimeError("ExecSync", "DeadlineExceeded", "late");
    expect(await run(probe, () => Promise.reject(late))).toEqual({
      result: "failure",
      output: 'command timed out: "sleep 9" timed out after 2s',
    });
    const gone = new RuntimeError("ExecSync", "NotFound", "no container");
    expect(await run(probe, () => Promise.reject(gone))).toEqual({
      result: "error",
      state: "unknown",
      output: "rpc error: code = NotFound desc = no container",
    });
  });
});

describe("grpc", () => {
  test("a serving service is healthy, any other is not", async () => {
    const serving = await serveHealth(Buffer.of(8, 1));
    expect(await run({ grpc: { port: serving } })).toEqual({
      result: "success",
      output: "service healthy",
    });
    const notServing = await serveHealth(Buffer.of(8, 2));
    expect(await run({ grpc: { port: notServing } })).toEqual({
      result: "failure",
      output: 'service unhealthy (responded with "NOT_SERVING")',
    });
    expect(await run({ grpc: { port: serving, service: "shop" } })).toEqual({
      result: "failure",
      output: "error: health rpc probe failed: rpc error: code = NotFound desc = unknown shop",
    });
  });

  test("a server without the health service and a closed port fail with their own texts", async () => {
    const { result, output } = await run({ grpc: { port: await serveHealth(undefined) } });
    expect(result).toBe("failure");
    expect(output).toMatch(
      /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /,
    );
    const port = await closedPort();
    expect(await run({ grpc: { port }, timeoutSeconds: 0.2 })).toEqual({
      result: "failure",
      output: `timeout: failed to connect service "127.0.0.1:${port}" within 200ms: context deadline exceeded`,
    });
  });
});

test("a probe without an action is an error that names the container", async () => {
  expect(await run({})).toMatchObject({ output: "missing probe handler for a_ns(1):c" });
});
