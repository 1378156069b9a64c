import { setMaxListeners } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import {
  answer,
  startApiServer,
  type TestApiServer,
  type TestHandler,
} from "../../../test/kit/api-server.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { createTestAuthority, type TestAuthority } from "../../../test/kit/test-authority.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import { createApiClient } from "./api-client.ts";
import { ConnectionPool } from "./connection-pool.ts";

const getNode = { method: "GET", path: "/api/v1/nodes/a" } as const;

// As the program does: one signal ends any number of watches.
setMaxListeners(0);

let authority: TestAuthority;
let pair: KeyPair;
let server: TestApiServer;
let pool: ConnectionPool;
let stop: AbortController;

beforeAll(() => {
  authority = createTestAuthority();
  pair = authority.issue("/CN=server");
});
afterAll(() => authority.remove());

afterEach(async () => {
  vi.useRealTimers();
  stop.abort();
  pool.close();
  await server.close();
});

async function start(handler: TestHandler, maxStreams = 250): Promise<ApiClient> {
  server = await startApiServer(handler, { pair, caPem: authority.caPem, maxStreams });
  return clientOf(server.url);
}

function clientOf(url: URL): ApiClient {
  stop = new AbortController();
  const endpoint = { url, caPem: authority.caPem };
  pool = new ConnectionPool(endpoint);
  return createApiClient({
    endpoint,
    pool,
    identity: { current: async () => ({ headers: {} }), refresh: async () => false },
    userAgent: "test",
    timeoutMs: 10_000,
    metrics: noMetrics,
  });
}

const bookmark: TestHandler = (_, response) => {
  response.write('{"type":"BOOKMARK","object":{}}\n');
};

/** Begins watches and resolves when all of them run. */
async function watchMany(
  client: ApiClient,
  count: number,
): Promise<{ readonly watches: readonly Promise<void>[] }> {
  let begun = 0;
  const watches = Array.from({ length: count }, () =>
    client.watch({ path: "/w" }, () => begun++, stop.signal),
  );
  for (const watch of watches) watch.catch(() => undefined);
  await vi.waitFor(() => expect(begun).toBe(count));
  return { watches };
}

test("many watches share one connection", async () => {
  const client = await start(bookmark);
  await watchMany(client, 100);
  expect(server.connections()).toBe(1);
});

test("what one connection cannot take goes over another one", async () => {
  const client = await start(bookmark, 10);
  await watchMany(client, 1);
  await watchMany(client, 24);
  expect(server.connections()).toBe(3);
});

test("a server that says goodbye fails no request, and ends its watches in peace", async () => {
  const held: (() => void)[] = [];
  const client = await start((request, response) => {
    if (request.url?.startsWith("/w") === true) {
      bookmark(request, response);
      held.push(() => response.end());
    } else setImmediate(() => answer(response, 200, {}));
  });
  const { watches } = await watchMany(client, 1);
  const load = async (): Promise<void> => {
    for (let round = 0; round < 50; round++) {
      expect(await client.send(getNode, stop.signal)).toEqual({});
      if (round % 10 === 5) server.goAway();
    }
  };
  await Promise.all([load(), load(), load()]);
  for (const end of held) end();
  await watches[0];
  expect(server.connections()).toBeGreaterThan(3);
});

test("a connection that leads nowhere any more is noticed and replaced", async () => {
  await start((request, response) => {
    if (request.url?.startsWith("/w") === true) bookmark(request, response);
    else answer(response, 200, {});
  });
  const sockets: Socket[] = [];
  const proxy = createServer((inside) => {
    const outside = connect(Number(server.url.port), "127.0.0.1");
    for (const socket of [inside, outside]) socket.on("error", () => undefined);
    inside.pipe(outside).pipe(inside);
    sockets.push(inside, outside);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  const url = new URL(server.url);
  url.port = String(typeof address === "object" ? address?.port : "");
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"],
  });
  const client = clientOf(url);
  const { watches } = await watchMany(client, 1);
  for (const socket of sockets) {
    socket.unpipe();
    socket.pause();
  }
  await vi.advanceTimersByTimeAsync(45_000);
  await expect(watches[0]).rejects.toThrow("the connection is dead");
  vi.useRealTimers();
  expect(await client.send(getNode, stop.signal)).toEqual({});
  for (const socket of sockets) socket.destroy();
  proxy.close();
});
