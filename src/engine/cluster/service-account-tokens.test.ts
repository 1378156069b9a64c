import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { formatTime } from "../../lib/time.ts";
import { ApiError } from "../../model/api-error.ts";
import type { TokenRequest } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import type { ServiceAccountTokenRequest } from "../../model/service-account-token.ts";
import { PodTable } from "../pods/pod-table.ts";
import { ApiServiceAccountTokens } from "./service-account-tokens.ts";

const tokenPath = "/api/v1/namespaces/ns/serviceaccounts/default/token";

function request(expirationSeconds: number, uid = "uid-1"): ServiceAccountTokenRequest {
  const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "web", uid: podUid(uid) };
  return { namespace: "ns", name: "default", spec: { expirationSeconds, boundObjectRef } };
}

function world() {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  const { signal } = new AbortController();
  let given = 0;
  const server: { does: "give" | "refuse" | "hang" } = { does: "give" };
  api.intercept(({ path, body }) => {
    if (path !== tokenPath) return undefined;
    if (server.does === "hang") return new Promise(() => undefined);
    if (server.does === "refuse")
      throw new ApiError(403, "Forbidden", "the pod is not on this node");
    const { spec } = body as TokenRequest;
    given += 1;
    const expiresAtMs = clock.nowMs() + (spec?.expirationSeconds ?? 0) * 1000;
    const status = { token: `token-${given}`, expirationTimestamp: formatTime(expiresAtMs) };
    return { spec, status };
  });
  const table = new PodTable();
  const wanted = table.writer("wanted");
  for (const uid of ["uid-1", "uid-2"]) wanted.set(podUid(uid), testPod({ containers: [] }));
  const tokens = new ApiServiceAccountTokens({
    api,
    clock,
    random: () => 0,
    log: silentLog,
    table,
  });
  const ask = (asked: ServiceAccountTokenRequest) => tokens.request(asked, signal);
  return { clock, api, table, tokens, ask, server };
}

test("a token is asked for once, and again after 80 % of its lifetime", async () => {
  const { clock, api, ask } = world();
  expect(await ask(request(3600))).toMatchObject({ ok: true, value: { token: "token-1" } });
  expect(api.requests[0]).toMatchObject({
    method: "POST",
    path: tokenPath,
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: 3600, boundObjectRef: { uid: "uid-1" } },
    },
  });
  await clock.advance(2_880_000);
  expect(await ask(request(3600))).toMatchObject({ ok: true, value: { token: "token-1" } });
  await clock.advance(1000);
  expect(await ask(request(3600))).toMatchObject({ ok: true, value: { token: "token-2" } });
  expect(await ask(request(3600))).toMatchObject({ ok: true, value: { token: "token-2" } });
});

test("a token for a year is renewed every day", async () => {
  const { clock, ask } = world();
  await ask(request(31_536_000));
  await clock.advance(86_400_000);
  expect(await ask(request(31_536_000))).toMatchObject({ ok: true, value: { token: "token-1" } });
  await clock.advance(1000);
  expect(await ask(request(31_536_000))).toMatchObject({ ok: true, value: { token: "token-2" } });
});

test("each pod and each audience has a token of its own", async () => {
  const { ask } = world();
  const other = request(3600);
  expect(await ask(request(3600, "uid-1"))).toMatchObject({ value: { token: "token-1" } });
  expect(await ask(request(3600, "uid-2"))).toMatchObject({ value: { token: "token-2" } });
  expect(await ask({ ...other, spec: { ...other.spec, audiences: ["vault"] } })).toMatchObject({
    value: { token: "token-3" },
  });
});

test("a token serves through an outage until it expires", async () => {
  const { clock, api, ask } = world();
  await ask(request(600));
  api.goDown();
  await clock.advance(599_000);
  expect(await ask(request(600))).toMatchObject({ ok: true, value: { token: "token-1" } });
  await clock.advance(2000);
  expect(await ask(request(600))).toMatchObject({
    error: expect.stringMatching(
      /^token "default"\/"ns"\/\[\]string\(nil\)\/600\/v1\.BoundObjectReference\{Kind:"Pod", APIVersion:"v1", Name:"web", UID:"uid-1"\}\/"" expired and refresh failed: /,
    ),
  });
  api.comeBack();
  expect(await ask(request(600))).toMatchObject({ ok: true, value: { token: "token-2" } });
});

test("a server that does not answer holds up no pod that has a token", async () => {
  const { clock, server, ask } = world();
  await ask(request(600));
  await clock.advance(500_000);
  server.does = "hang";
  expect(await clock.run(ask(request(600)))).toMatchObject({
    ok: true,
    value: { token: "token-1" },
  });
  expect(clock.monotonicMs()).toBe(510_000);
});

test("a refusal is returned", async () => {
  const { ask, server } = world();
  server.does = "refuse";
  expect(await ask(request(3600))).toEqual({
    ok: false,
    error: "failed to fetch token: the pod is not on this node",
  });
});

test("the tokens of a pod that is gone are forgotten", async () => {
  const { tokens, ask } = world();
  await ask(request(3600, "uid-1"));
  await ask(request(3600, "uid-2"));
  tokens.release(podUid("uid-1"));
  expect(await ask(request(3600, "uid-2"))).toMatchObject({ value: { token: "token-2" } });
  expect(await ask(request(3600, "uid-1"))).toMatchObject({ value: { token: "token-3" } });
});

test("a token that arrives after its pod was forgotten does not bring the pod's entry back", async () => {
  const { table, ask } = world();
  const asking = ask(request(3600, "uid-1"));
  table.delete(podUid("uid-1"));
  expect(await asking).toMatchObject({ value: { token: "token-1" } });
  expect(table.get(podUid("uid-1"))).toBeUndefined();
});
