// Whatever freezes or exhausts the kubelet's API, the agent goes on, and the API comes back on the same port.

import { spawn } from "node:child_process";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { freePort, type ServedKubeletApi, serveKubelet } from "../fakes/served-kubelet-api.ts";
import { apiThreadEntry } from "../kit/api-thread-entry.ts";
import { runningPod } from "../kit/pods.ts";
import { createTestAuthority, type TestAuthority } from "../kit/test-authority.ts";

const threadEntry = apiThreadEntry("test/hostile/support/breakable-api-thread.ts");
/** Far less than the ten seconds that the thread stands still, far more than a busy machine takes. */
const longestPauseMs = 4_000;
const client = `
  const { get } = require("node:http");
  const ask = () => get(process.argv[1], (response) => {
    let body = "";
    response.on("data", (chunk) => (body += chunk));
    response.on("end", () => {
      if (response.statusCode === 200) return setTimeout(ask, 50);
      process.stdout.write(response.statusCode + " " + body);
    });
  });
  process.stdout.write("ready\\n");
  ask();
`;

let authority: TestAuthority;
let healthzPort: number;
let api: ServedKubeletApi;

beforeAll(() => {
  authority = createTestAuthority();
});

afterAll(() => authority.remove());

beforeEach(async () => {
  healthzPort = await freePort();
  api = await serveKubelet(authority.issue("/CN=node-1"), { threadEntry, config: { healthzPort } });
  api.view.put(runningPod("web"));
  api.reviews.users.set("robot", { username: "robot" });
  api.reviews.allowed.add("robot * *");
});

afterEach(() => api.stop());

/** Measures the longest pause of this thread, the agent's, while `work` is done. */
async function longestPause(work: () => Promise<void>): Promise<number> {
  let lastMs = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    longest = Math.max(longest, nowMs - lastMs);
    lastMs = nowMs;
  }, 20);
  await work();
  clearInterval(timer);
  return longest;
}

test.each([
  ["/test/freeze", "it stood still for 10 s"],
  ["/test/exhaust", "memory"],
])("after %s the API is served again, and the agent did not pause", async (path, reason) => {
  expect((await api.ask("/pods", { token: "robot" })).status).toBe(200);
  const pauseMs = await longestPause(async () => {
    await expect(api.ask(path)).rejects.toThrow("socket hang up");
    const ask = async (): Promise<number> =>
      (await api.ask("/pods", { token: "robot" }).catch(() => ({ status: 0 }))).status;
    await expect.poll(ask).toBe(200);
  });
  expect(pauseMs).toBeLessThan(longestPauseMs);
  const logged = api.logged.join("\n");
  expect(logged).toContain("the thread of the kubelet's API ended, starting it again");
  expect(logged).toContain(reason);
  expect((await api.askPlain(healthzPort, "/healthz")).status).toBe(200);
});

test("when the agent stands still, health says so, and the API's thread is left alone", async () => {
  const url = `http://127.0.0.1:${healthzPort}/healthz`;
  const asking = spawn(process.execPath, ["-e", client, url], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  asking.stdout.on("data", (chunk) => {
    text += chunk;
  });
  const ended = new Promise((resolve) => asking.on("close", resolve));
  await expect.poll(() => text).toContain("ready");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 13_000);
  await ended;
  expect(text).toContain("500 [-]ping failed: the agent did not answer within 5 s");
  expect((await api.askPlain(healthzPort, "/healthz")).status).toBe(200);
  expect(api.logged.join("\n")).not.toContain("starting it again");
});
