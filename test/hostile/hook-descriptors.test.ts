import { readdirSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { newHookHttp } from "../../src/drivers/linux/hook-http.ts";
import { PodNames } from "../../src/drivers/linux/pod-names.ts";
import { podUid } from "../../src/model/ids.ts";

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

function serve(handler: RequestListener): Promise<number> {
  const server = createServer(handler);
  cleanUps.push(() => server.close());
  cleanUps.push(() => server.closeAllConnections());
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

/** Both ends of a connection are descriptors of this process: one that was left open counts two. */
async function leftAfterHooks(port: number, hooks: number): Promise<number> {
  const http = newHookHttp(new PodNames());
  const target = {
    podUid: podUid("pod"),
    container: { name: "c", image: "i" },
    podIp: "127.0.0.1",
  };
  const before = openDescriptors();
  const send = () => http.get({ port }, target, AbortSignal.timeout(60_000));
  await Promise.all(Array.from({ length: hooks }, send));
  await expect.poll(openDescriptors, { timeout: 20_000 }).toBeLessThan(before + hooks / 2);
  return openDescriptors() - before;
}

test("hooks close their connections when the answer ends", async () => {
  const port = await serve((_request, response) => response.end("x".repeat(100)));
  expect(await leftAfterHooks(port, 100)).toBeLessThan(50);
});

test("hooks close their connections when the answer is long, or has no end", async () => {
  const endless = await serve((_request, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write("x".repeat(8 * 1024)));
    };
    response.on("drain", write);
    write();
  });
  expect(await leftAfterHooks(endless, 100)).toBeLessThan(50);
  const announced = await serve((_request, response) => {
    response.writeHead(200, { "content-length": 100_000_000 }).write("x");
  });
  expect(await leftAfterHooks(announced, 100)).toBeLessThan(50);
});
