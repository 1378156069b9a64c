// Anonymous connections locked everybody out of the kubelet's API, pipelined requests with made-up tokens queued before
// the node's own requests, and an upgrade behind a request that was not answered yet ended the agent.

import { connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type ServedKubeletApi, serveKubelet } from "../fakes/served-kubelet-api.ts";
import { runningPod } from "../kit/pods.ts";
import { createTestAuthority, type TestAuthority } from "../kit/test-authority.ts";

let authority: TestAuthority;
let api: ServedKubeletApi | undefined;
const open = new Set<TLSSocket>();

beforeAll(() => {
  authority = createTestAuthority();
});

afterEach(async () => {
  for (const socket of open) socket.destroy();
  open.clear();
  await api?.stop();
});

afterAll(() => authority.remove());

async function serve(changes: Parameters<typeof serveKubelet>[1] = {}): Promise<ServedKubeletApi> {
  api = await serveKubelet(authority.issue("/CN=node-1"), changes);
  api.view.put(runningPod("web"));
  api.reviews.users.set("robot", { username: "robot" });
  api.reviews.allowed.add("robot * *");
  return api;
}

function dial(port: number | undefined, localAddress = "127.0.0.1"): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, localAddress, rejectUnauthorized: false };
    const socket = connect(options, () => resolve(socket));
    open.add(socket);
    socket.on("error", reject);
    socket.on("close", () => open.delete(socket));
  });
}

function request(path: string, token: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

/** The statuses that a connection was answered with so far. */
function statuses(socket: TLSSocket): readonly number[] {
  const found: number[] = [];
  socket.on("data", (chunk) => {
    for (const [, status] of String(chunk).matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      found.push(Number(status));
    }
  });
  return found;
}

test("1 024 anonymous keep-alive connections lock no client out", async () => {
  const { ports, ask } = await serve();
  const known = await dial(ports.secure);
  const answers = statuses(known);
  known.write(request("/healthz", "robot"));
  await expect.poll(() => answers).toEqual([200]);
  for (let batch = 0; batch < 32; batch++) {
    const sockets = await Promise.all(
      Array.from({ length: 32 }, () => dial(ports.secure).catch(() => undefined)),
    );
    for (const socket of sockets) {
      socket?.on("error", () => undefined);
      socket?.write("GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n");
    }
  }
  expect((await ask("/pods", { token: "robot" })).status).toBe(200);
  expect((await ask("/pods", { token: "robot", localAddress: "127.0.0.2" })).status).toBe(200);
  known.write(request("/healthz", "robot"));
  await expect.poll(() => answers).toEqual([200, 200]);
});

test("pipelined requests are answered one after the other, and a flood of them ends the connection", async () => {
  const { ports, ask, reviews } = await serve();
  const polite = await dial(ports.secure);
  const answers = statuses(polite);
  polite.write(
    `${request("/pods", "robot")}${request("/nowhere", "robot")}${request("/healthz", "x")}`,
  );
  await expect.poll(() => answers).toEqual([200, 404, 401]);
  reviews.asked.length = 0;
  const greedy = await dial(ports.secure);
  greedy.on("error", () => undefined);
  const ended = new Promise((resolve) => greedy.once("close", resolve));
  const flood = Array.from({ length: 5000 }, (_, index) => request("/pods", `made-up-${index}`));
  greedy.write(flood.join(""));
  await ended;
  expect(reviews.asked.length).toBeLessThan(50);
  expect((await ask("/pods", { token: "robot" })).status).toBe(200);
});

test("an upgrade behind a request that is not answered yet ends that connection alone", async () => {
  const { ports, ask, logged } = await serve();
  const socket = await dial(ports.secure);
  socket.on("error", () => undefined);
  const ended = new Promise((resolve) => socket.once("close", resolve));
  const upgrade = "GET /pods HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
  socket.write(`${request("/pods", "made-up")}${upgrade}`);
  socket.resume();
  await ended;
  expect((await ask("/pods", { token: "robot" })).status).toBe(200);
  expect(logged.join("\n")).not.toContain("starting it again");
});

test("made-up tokens are reviewed few at a time, and known ones do not wait for them", async () => {
  let inFlight = 0;
  let most = 0;
  const { ask, reviews } = await serve({
    api: {
      send: async (sent) => {
        const spec = (sent.body as { spec: { token?: string } }).spec;
        if (spec.token === "robot" || spec.token === undefined) return reviews.send(sent);
        inFlight++;
        most = Math.max(most, inFlight);
        await new Promise((resolve) => setTimeout(resolve, 100));
        inFlight--;
        return { status: { authenticated: false } } as never;
      },
      watch: () => Promise.reject(new Error("nothing is watched")),
    },
  });
  expect((await ask("/pods", { token: "robot" })).status).toBe(200);
  const flood = Array.from({ length: 200 }, (_, index) =>
    ask("/pods", { token: `made-up-${index}` }),
  );
  expect((await ask("/pods", { token: "robot" })).status).toBe(200);
  const answers = await Promise.all(flood);
  const refused = answers.filter(({ status }) => status === 429);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
  expect(refused[0]?.headers["retry-after"]).toBe("1");
  expect(refused.length).toBeGreaterThan(50);
  expect(most).toBeLessThanOrEqual(8);
});

test("more headers or a larger body than any client sends are refused", async () => {
  const { ask } = await serve();
  const headers = Object.fromEntries(
    Array.from({ length: 250 }, (_, index) => [`x-${index}`, "x"]),
  );
  expect((await ask("/healthz", { headers })).status).toBe(431);
  const body = "x".repeat(1024 * 1024 + 1);
  const sent = { "Content-Length": String(body.length) };
  expect((await ask("/healthz", { method: "POST", headers: sent })).status).toBe(413);
});
