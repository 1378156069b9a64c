// CVE-2020-8551: requests for made-up paths, with bodies that are never read, filled the memory of a kubelet.
import { Agent, request } from "node:https";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MetricsRegistry } from "../../src/lib/metrics-registry.ts";
import { metricDefinitions } from "../../src/model/generated/metrics.ts";
import { type ServedKubeletApi, serveKubelet } from "../fakes/served-kubelet-api.ts";
import { createTestAuthority, type TestAuthority } from "../kit/test-authority.ts";

const paths = 2000;
const methods = ["GET", "POST", "PUT", "PROPFIND", "M-SEARCH", "SUBSCRIBE"];
const metrics = new MetricsRegistry(metricDefinitions);
/** Methods and endpoints that there are, not those that a client makes up. */
const maxSeries = 60;

let authority: TestAuthority;
let api: ServedKubeletApi;

beforeAll(async () => {
  authority = createTestAuthority();
  api = await serveKubelet(authority.issue("/CN=node-1"), { metrics });
});

afterAll(async () => {
  await api.stop();
  authority.remove();
});

function ask(agent: Agent, method: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { secure: port } = api.ports;
    const options = { host: "127.0.0.1", port, path, method, agent, rejectUnauthorized: false };
    const outgoing = request(options, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

function countSeries(): number {
  const lines = metrics.text((name) => name.startsWith("kubelet_http_")).split("\n");
  return lines.filter((line) => line.includes("{") && !line.includes('le="')).length;
}

test("made-up paths and methods make no series of their own", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const statuses = await Promise.all(
    Array.from({ length: paths }, (_, index) =>
      ask(agent, methods[index % methods.length] ?? "GET", `/made-up-${index}/${index}`),
    ),
  );
  agent.destroy();
  expect(new Set(statuses)).toEqual(new Set([404]));
  await expect.poll(() => metrics.text((name) => name.startsWith("kubelet_http_"))).toContain("{");
  expect(countSeries()).toBeLessThan(maxSeries);
});

test("unexpected bodies are not kept", async () => {
  const bodies = 100;
  const bodyBytes = 4 * 1024 * 1024;
  const chunk = Buffer.alloc(64 * 1024, "x");
  let sent = 0;
  const pour = (): Promise<void> =>
    new Promise((resolve) => {
      const { secure: port } = api.ports;
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
      const head = "POST /made-up HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n";
      let left = bodyBytes;
      const more = (): void => {
        while (left > 0 && !socket.destroyed) {
          left -= chunk.length;
          sent += chunk.length;
          const isFull = !socket.write(`${chunk.length.toString(16)}\r\n`);
          socket.write(chunk);
          socket.write("\r\n");
          if (isFull || socket.writableNeedDrain) return;
        }
      };
      socket.on("secureConnect", () => {
        socket.write(head);
        more();
      });
      socket.resume();
      socket.on("drain", more);
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
    });
  const before = process.memoryUsage().rss;
  // The connections end because the server ends them: no body is ever finished.
  await Promise.all(Array.from({ length: bodies }, pour));
  expect(sent).toBeGreaterThan(0);
  expect(process.memoryUsage().rss - before).toBeLessThan((bodies * bodyBytes) / 2);
  expect((await api.ask("/healthz")).status).toBe(401);
  expect(api.logged.join("\n")).not.toContain("starting it again");
});
