// A path of escaped slashes froze the agent for seconds before anybody was asked who it is.
import { performance } from "node:perf_hooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpointTable, findEndpoint } from "../../src/server/kubelet/endpoints.ts";
import { type ServedKubeletApi, serveKubelet } from "../fakes/served-kubelet-api.ts";
import { createTestAuthority, type TestAuthority } from "../kit/test-authority.ts";

let authority: TestAuthority;
let api: ServedKubeletApi;

beforeAll(async () => {
  authority = createTestAuthority();
  api = await serveKubelet(authority.issue("/CN=node-1"));
});

afterAll(async () => {
  await api.stop();
  authority.remove();
});

test("a path of slashes is looked up in a blink", () => {
  const table = endpointTable({
    healthChecks: [],
    debugging: true,
    systemLogs: "files",
    profiling: true,
    debugFlags: true,
    checkpoint: true,
    flagz: true,
    statusz: true,
  });
  const startedMs = performance.now();
  const lookup = findEndpoint(table, "GET", `/exec/${"%2f".repeat(80_000)}x`, undefined);
  expect(lookup).toMatchObject({ kind: "guarded", answer: { status: 404 } });
  // It took 10 s and more; now it takes some 20 ms.
  expect(performance.now() - startedMs).toBeLessThan(3000);
});

test("a path of more than 4 KiB is refused before it is parsed", async () => {
  expect(await api.ask(`/exec/${"%2f".repeat(80_000)}x`)).toMatchObject({
    status: 414,
    headers: { connection: "close" },
  });
  expect((await api.ask(`/exec/${"a".repeat(4100)}`)).status).toBe(414);
  expect((await api.ask(`/exec/${"a".repeat(4000)}`)).status).toBe(401);
});

test("a long command of an exec passes", async () => {
  const path = `/exec/default/web/main?output=1&command=${"a".repeat(200_000)}`;
  expect((await api.ask(path)).status).toBe(401);
});
