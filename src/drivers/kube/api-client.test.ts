import type { IncomingMessage } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  answer,
  clientName,
  startApiServer,
  type TestApiServer,
  type TestHandler,
} from "../../../test/kit/api-server.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { createTestAuthority, type TestAuthority } from "../../../test/kit/test-authority.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { ApiClient, ApiRequest } from "../../ports/api-client.ts";
import { type ApiClientOptions, createApiClient } from "./api-client.ts";
import { ConnectionPool } from "./connection-pool.ts";
import type { Identity, IdentitySource } from "./identity.ts";

const { signal } = new AbortController();
const anonymous: IdentitySource = {
  current: async () => ({ headers: {} }),
  refresh: async () => false,
};
const getNode: ApiRequest = { method: "GET", path: "/api/v1/nodes/a" };

let authority: TestAuthority;
let serverPair: KeyPair;
let server: TestApiServer | undefined;
const pools: ConnectionPool[] = [];

beforeAll(() => {
  authority = createTestAuthority();
  serverPair = authority.issue("/CN=server");
});

afterEach(async () => {
  for (const pool of pools.splice(0)) pool.close();
  await server?.close();
  server = undefined;
});

afterAll(() => authority.remove());

type Protocol = "plain HTTP/1.1" | "HTTP/1.1" | "HTTP/2";
let protocol: Protocol = "HTTP/2";

async function serve(handler: TestHandler): Promise<TestApiServer> {
  const tls = { pair: serverPair, caPem: authority.caPem, isOld: protocol === "HTTP/1.1" };
  server = await startApiServer(handler, protocol === "plain HTTP/1.1" ? undefined : tls);
  return server;
}

function clientOf(url: URL, options: Partial<ApiClientOptions> = {}): ApiClient {
  const endpoint = { url, caPem: authority.caPem };
  const pool = new ConnectionPool(options.endpoint ?? endpoint);
  pools.push(pool);
  return createApiClient({
    endpoint,
    pool,
    identity: anonymous,
    userAgent: "kubelet/test",
    timeoutMs: 10_000,
    metrics: noMetrics,
    ...options,
  });
}

function readText(request: IncomingMessage, onText: (text: string) => void): void {
  let text = "";
  request.on("data", (chunk) => {
    text += String(chunk);
  });
  request.on("end", () => onText(text));
}

describe.each<Protocol>(["plain HTTP/1.1", "HTTP/1.1", "HTTP/2"])("over %s", (given) => {
  beforeEach(() => {
    protocol = given;
  });

  test("requests carry method, path, query, agent and the content type of their patch", async () => {
    const seen: unknown[] = [];
    const { url } = await serve((request, response) => {
      readText(request, (body) => {
        const { "content-type": type, "user-agent": agent } = request.headers;
        expect(request.httpVersion).toBe(given === "HTTP/2" ? "2.0" : "1.1");
        seen.push([request.method, request.url, type, agent, body]);
        answer(response, 200, { ok: "é" });
      });
    });
    const client = clientOf(new URL("/prefix/", url));
    const patch = { method: "PATCH", path: "/p", body: { a: 1 } } as const;
    expect(await client.send({ ...getNode, query: { limit: "5" } }, signal)).toEqual({ ok: "é" });
    await client.send(patch, signal);
    await client.send({ ...patch, patchType: "merge" }, signal);
    await client.send({ ...patch, patchType: "json", body: [] }, signal);
    await client.send({ method: "POST", path: "/p", body: { b: "ß" } }, signal);
    expect(seen).toEqual([
      ["GET", "/prefix/api/v1/nodes/a?limit=5", undefined, "kubelet/test", ""],
      ["PATCH", "/prefix/p", "application/strategic-merge-patch+json", "kubelet/test", '{"a":1}'],
      ["PATCH", "/prefix/p", "application/merge-patch+json", "kubelet/test", '{"a":1}'],
      ["PATCH", "/prefix/p", "application/json-patch+json", "kubelet/test", "[]"],
      ["POST", "/prefix/p", "application/json", "kubelet/test", '{"b":"ß"}'],
    ]);
    // The first one over TLS finds out which version of HTTP the server speaks.
    expect(server?.connections()).toBe(given === "HTTP/1.1" ? 2 : 1);
  });

  test("a Status object becomes an ApiError, and so does an answer without one", async () => {
    const { url } = await serve((request, response) => {
      if (request.url === "/plain") {
        response.writeHead(502);
        response.end("<html>canary</html>");
      } else {
        const details = { retryAfterSeconds: 7 };
        answer(response, 409, { code: 409, reason: "Conflict", message: "changed", details });
      }
    });
    const client = clientOf(url);
    await expect(client.send(getNode, signal)).rejects.toMatchObject({
      name: "ApiError",
      status: 409,
      reason: "Conflict",
      message: "changed",
      retryAfterSeconds: 7,
    });
    await expect(client.send({ method: "GET", path: "/plain" }, signal)).rejects.toMatchObject({
      status: 502,
      reason: "",
      message: "the API server answered with status 502",
    });
  });

  test("a busy server is asked again after the time that it names", async () => {
    let asked = 0;
    const { url } = await serve((_, response) => {
      asked++;
      if (asked > 2) return answer(response, 200, {});
      response.writeHead(asked === 1 ? 429 : 503, { "Retry-After": "0" });
      response.end();
    });
    await clientOf(url).send(getNode, signal);
    expect(asked).toBe(3);
  });

  test("requests beyond the burst wait for their turn, and stop waiting when they are aborted", async () => {
    const { url } = await serve((_, response) => answer(response, 200, {}));
    const client = clientOf(url, { rate: { perSecond: 20, burst: 1 } });
    const startMs = performance.now();
    await Promise.all([1, 2, 3].map(() => client.send(getNode, signal)));
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(90);
    const slow = clientOf(url, { rate: { perSecond: 0.001, burst: 1 } });
    await slow.send(getNode, signal);
    const stop = new AbortController();
    const waiting = [slow.send(getNode, stop.signal), slow.send(getNode, stop.signal)];
    stop.abort(new Error("enough"));
    for (const one of waiting) await expect(one).rejects.toThrow("enough");
  });

  test("an event whose character comes in two pieces is read whole, and the end of the watch resolves", async () => {
    const line = Buffer.from(`${JSON.stringify({ type: "ADDED", object: { name: "grüße" } })}\n`);
    const cut = line.indexOf(0xc3) + 1;
    const { url } = await serve((request, response) => {
      expect(request.url).toMatch(/^\/pods\?resourceVersion=5&watch=true&timeoutSeconds=\d+$/);
      response.write(line.subarray(0, cut));
      setImmediate(() => response.end(line.subarray(cut)));
    });
    const events: unknown[] = [];
    const request = { path: "/pods", query: { resourceVersion: "5" } };
    await clientOf(url).watch(request, (event) => events.push(event), signal);
    expect(events).toEqual([{ type: "ADDED", object: { name: "grüße" } }]);
  });

  test("an ERROR event rejects a watch with what it says, after the events before it", async () => {
    const { url } = await serve((_, response) => {
      response.write('{"type":"BOOKMARK","object":{}}\n');
      response.end(
        '{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}\n',
      );
    });
    const types: string[] = [];
    const watch = clientOf(url).watch({ path: "/w" }, ({ type }) => types.push(type), signal);
    await expect(watch).rejects.toMatchObject({ status: 410, reason: "Expired" });
    expect(types).toEqual(["BOOKMARK"]);
  });

  test.each([
    ["garbage", "garbage canary\n", "not JSON"],
    ["an unknown type", '{"type":"NEW"}\n', "unknown type"],
    ["half an event", '{"type":"ADDED",', "inside an event"],
  ])("%s breaks a watch without a word of the text", async (_, text, message) => {
    const { url } = await serve((_request, response) => response.end(text));
    const failure = await clientOf(url)
      .watch({ path: "/w" }, () => undefined, signal)
      .catch(String);
    expect(failure).toContain(message);
    expect(failure).not.toContain("canary");
  });

  test("a server that dies in the middle of a watch rejects it", async () => {
    const { url, cut } = await serve((_, response) => {
      response.write('{"type":"ADDED","object":{}}\n');
    });
    const watch = clientOf(url).watch({ path: "/w" }, () => cut(), signal);
    await expect(watch).rejects.toThrow(/^GET http.*\/w: (aborted|the connection broke)$/);
  });

  test("an abort ends a request, a watch that runs and one that waits for its answer", async () => {
    const { url } = await serve((request, response) => {
      if (request.url?.startsWith("/running")) response.write('{"type":"ADDED","object":{}}\n');
    });
    const client = clientOf(url);
    const stop = new AbortController();
    const all = [
      client.send(getNode, stop.signal),
      client.watch({ path: "/silent" }, () => undefined, stop.signal),
      client.watch({ path: "/running" }, () => stop.abort(new Error("enough")), stop.signal),
    ];
    for (const one of all) await expect(one).rejects.toThrow("enough");
    await expect(client.send(getNode, stop.signal)).rejects.toThrow("enough");
  });

  test("a server that takes a connection and never answers is noticed", async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    const client = clientOf(new URL(`https://127.0.0.1:${port}`), { timeoutMs: 50 });
    await expect(client.send(getNode, signal)).rejects.toThrow(
      /GET https:.*\/nodes\/a took longer than 0.05 s/,
    );
    await expect(client.watch({ path: "/w" }, () => undefined, signal)).rejects.toThrow(
      "took longer",
    );
    silent.close();
  });

  test("a connection that the server closed while it was idle fails no request", async () => {
    const { url, cut } = await serve((_, response) => answer(response, 200, {}));
    const client = clientOf(url);
    for (let round = 0; round < 20; round++) {
      expect(await client.send(getNode, signal)).toEqual({});
      cut();
    }
  });

  test("after a 401 other credentials are used, once", async () => {
    const tokens = ["old", "new"];
    const used: (string | undefined)[] = [];
    const { url } = await serve((request, response) => {
      used.push(request.headers.authorization);
      const isNew = request.headers.authorization === "Bearer new";
      answer(response, isNew ? 200 : 401, { code: isNew ? 0 : 401, reason: "Unauthorized" });
    });
    const identity: IdentitySource = {
      current: async () => ({ headers: { Authorization: `Bearer ${tokens[0]}` } }),
      refresh: async () => tokens.shift() !== undefined && tokens.length > 0,
    };
    const client = clientOf(url, { identity });
    await client.send(getNode, signal);
    expect(used).toEqual(["Bearer old", "Bearer new"]);
    tokens.splice(0, 2, "old", "older");
    await expect(client.send(getNode, signal)).rejects.toMatchObject({ status: 401 });
    expect(used).toHaveLength(4);
  });
});

describe.each<Protocol>(["HTTP/1.1", "HTTP/2"])("over TLS and %s", (given) => {
  beforeEach(() => {
    protocol = given;
  });

  test("a server of another authority or another name is refused, one with the given name is not", async () => {
    const other = createTestAuthority();
    const { url } = await serve((_, response) => answer(response, 200, {}));
    const named = new URL(url);
    named.hostname = "127.0.0.2";
    const send = (endpoint: ApiClientOptions["endpoint"]): Promise<unknown> =>
      clientOf(url, { endpoint }).send(getNode, signal);
    await expect(send({ url, caPem: other.caPem })).rejects.toThrow("certificate");
    await expect(send({ url })).rejects.toThrow("certificate");
    vi.stubEnv("SSL_CERT_FILE", join(authority.folder, "ca.crt"));
    await send({ url });
    vi.unstubAllEnvs();
    await send({ url, caPem: authority.caPem, serverName: "localhost" });
    await expect(send({ url, caPem: authority.caPem, serverName: "elsewhere" })).rejects.toThrow(
      "elsewhere",
    );
    await send({ url, caPem: other.caPem, skipVerification: true });
    other.remove();
  });

  test("a rotated certificate is used at once, ends the watches and fails no request under load", async () => {
    const pairs = ["a", "b", "c"].map((name) => authority.issue(`/CN=${name}`));
    let active = 0;
    const { url } = await serve((request, response) => {
      if (request.url?.startsWith("/watch")) {
        response.write('{"type":"BOOKMARK","object":{}}\n');
        return;
      }
      setTimeout(() => answer(response, 200, { name: clientName(request) }), 5);
    });
    const identity: IdentitySource = {
      current: async (): Promise<Identity> => ({ headers: {}, pair: pairs[active] }),
      refresh: async () => false,
    };
    const client = clientOf(url, { identity });
    const watching = vi.fn<() => void>();
    const watch = client.watch({ path: "/watch" }, watching, signal);
    await vi.waitFor(() => expect(watching).toHaveBeenCalled());
    const names = new Set<string>();
    const load = async (): Promise<void> => {
      while (!names.has("c")) {
        const expected = active;
        const { name } = await client.send<{ readonly name: string }>(getNode, signal);
        names.add(name);
        expect(["a", "b", "c"].indexOf(name)).toBeGreaterThanOrEqual(expected);
      }
    };
    const running = Promise.all([1, 2, 3, 4, 5].map(load));
    for (const name of ["a", "b"]) {
      await vi.waitFor(() => expect(names).toContain(name));
      active++;
    }
    await running;
    await watch;
  });

  test("an invalid client certificate is reported as such", async () => {
    const pair = {
      certPem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      keyPem: "canary",
    };
    const identity = { ...anonymous, current: async () => ({ headers: {}, pair }) };
    const { url } = await serve((_, response) => answer(response, 200, {}));
    const failure = await clientOf(url, { identity }).send(getNode, signal).catch(String);
    expect(failure).toContain("the client certificate or key cannot be used");
    expect(failure).not.toContain("canary");
  });
});
