// Clients that open attaches and go away: nothing of them may stay, neither here nor at the runtime.

import { readdirSync, readlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedKubeletApi, serveKubelet } from "../fakes/served-kubelet-api.ts";
import { runningPod } from "../kit/pods.ts";
import { createTestAuthority, type TestAuthority } from "../kit/test-authority.ts";
import { webSocketHeaders } from "../kit/websocket-client.ts";

const attachesOfAKind = 200;
const atOnce = 50;
const spdy = { Connection: "Upgrade", Upgrade: "SPDY/3.1" };

let authority: TestAuthority;
let api: ServedKubeletApi;
/** Connections to the runtime's streaming server. */
const streaming = new Set<Socket>();
let upgrades = 0;
let pendingCalls = 0;
const server = createServer();

beforeAll(async () => {
  authority = createTestAuthority();
  api = await serveKubelet(authority.issue("/CN=node-1"));
  api.view.put(runningPod("web"));
  api.reviews.users.set("robot", { username: "robot" });
  api.reviews.allowed.add("robot * *");
  server.on("connection", (socket) => {
    streaming.add(socket);
    socket.on("close", () => streaming.delete(socket));
  });
  server.on("upgrade", ({ url }, socket) => {
    upgrades++;
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.destroy());
    socket.resume();
    if (url === "/silent") return;
    const upgraded = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${upgraded}`);
    // Output without a reader.
    socket.write(Buffer.alloc(64 * 1024));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await api.stop();
  authority.remove();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    for (const socket of streaming) socket.destroy();
  });
});

/** The sockets of this process, in which the API's thread lives too. */
function openSockets(): number {
  let count = 0;
  for (const fd of readdirSync("/proc/self/fd")) {
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`).startsWith("socket:")) count++;
    } catch {
      // It was that of the listing.
    }
  }
  return count;
}

function dial(): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const { secure: port } = api.ports;
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () =>
      resolve(socket),
    );
    socket.on("error", reject);
  });
}

/** Opens attaches, and goes away as soon as each of them has come as far as it will. */
async function abandonAttaches(
  headers: Readonly<Record<string, string>>,
  hasCome: () => number,
): Promise<void> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const path = "/attach/default/web/main?input=1&output=1";
  const request = `POST ${path} HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer robot\r\n${lines.join("")}\r\n`;
  for (let done = 0; done < attachesOfAKind; done += atOnce) {
    const before = hasCome();
    const sockets = await Promise.all(Array.from({ length: atOnce }, dial));
    for (const socket of sockets) socket.write(request);
    await expect.poll(() => hasCome() - before).toBe(atOnce);
    for (const socket of sockets) socket.destroy();
  }
}

test("a thousand abandoned attaches leave no connection and no call behind", async () => {
  const { port } = server.address() as AddressInfo;
  const before = openSockets();
  const at = (path: string): void => {
    api.view.streamingUrl = new URL(`http://127.0.0.1:${port}${path}`);
  };
  const countUpgrades = (): number => upgrades;
  at("/");
  await abandonAttaches(spdy, countUpgrades);
  await abandonAttaches(webSocketHeaders("v5.channel.k8s.io"), countUpgrades);
  await abandonAttaches(webSocketHeaders("v4.channel.k8s.io"), countUpgrades);
  at("/silent");
  await abandonAttaches(spdy, countUpgrades);
  let calls = 0;
  api.view.attachUrl = (_pod, _options, signal?: AbortSignal) =>
    new Promise((_, reject) => {
      calls++;
      pendingCalls++;
      signal?.addEventListener("abort", () => {
        pendingCalls--;
        reject(new Error("the client went away"));
      });
    });
  await abandonAttaches(spdy, () => calls);
  await expect.poll(() => streaming.size).toBe(0);
  await expect.poll(() => pendingCalls).toBe(0);
  await expect.poll(openSockets).toBeLessThanOrEqual(before);
  expect(upgrades + calls).toBe(5 * attachesOfAKind);
  expect((await api.ask("/pods", { token: "robot" })).status).toBe(200);
  expect(api.logged.join("\n")).not.toContain("starting it again");
});
