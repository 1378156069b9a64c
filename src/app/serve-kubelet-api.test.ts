import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  freePort,
  type KubeletRequest,
  type ServedKubeletApi,
  serveKubelet,
} from "../../test/fakes/served-kubelet-api.ts";
import { runningPod } from "../../test/kit/pods.ts";
import { createTestAuthority, type TestAuthority } from "../../test/kit/test-authority.ts";
import { fileDefaultConfig } from "../config/legacy-defaults.ts";
import type { KeyPair } from "../model/key-pair.ts";

const upgrade = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

let authority: TestAuthority;
let foreign: TestAuthority;
let serving: KeyPair;

beforeAll(() => {
  authority = createTestAuthority();
  foreign = createTestAuthority();
  serving = authority.issue("/CN=node-1");
  writeFileSync(join(authority.folder, "clients.crt"), authority.caPem);
});

afterAll(() => {
  authority.remove();
  foreign.remove();
});

function x509() {
  const { authentication } = fileDefaultConfig();
  const clientCAFile = join(authority.folder, "clients.crt");
  return { authentication: { ...authentication, x509: { clientCAFile } } };
}

function shown({ certPem: cert, keyPem: key }: KeyPair): KubeletRequest {
  return { cert, key };
}

/** Every endpoint with how it is asked for and the answer for a user with all rights. */
const endpoints: readonly (readonly [method: string, path: string, allowed: number])[] = [
  ["GET", "/healthz", 200],
  ["GET", "/healthz/ping", 200],
  ["GET", "/healthz/log", 200],
  ["GET", "/healthz/syncloop", 200],
  ["GET", "/pods", 200],
  ["GET", "/pods/", 200],
  ["GET", "/runningpods/", 200],
  ["GET", "/stats/summary", 200],
  ["POST", "/stats/summary", 200],
  ["GET", "/metrics", 200],
  ["GET", "/metrics/cadvisor", 200],
  ["GET", "/metrics/resource", 200],
  ["GET", "/metrics/probes", 200],
  ["GET", "/metrics/slis", 200],
  ["GET", "/configz", 200],
  ["GET", "/flagz", 200],
  ["GET", "/statusz", 200],
  ["GET", "/containerLogs/default/web/nope", 404],
  ["GET", "/exec/default/web/main?command=id&output=1", 500],
  ["POST", "/exec/default/web/main?command=id&output=1", 500],
  ["GET", "/attach/default/web/main?output=1", 500],
  ["POST", "/portForward/default/web", 500],
  ["POST", "/run/default/web/main?cmd=id", 500],
  ["POST", "/checkpoint/default/web/main", 500],
  ["GET", "/logs/", 405],
  ["GET", "/debug/pprof/", 200],
  ["GET", "/debug/pprof/goroutine", 404],
  ["GET", "/debug/pprof/profile?seconds=none", 400],
  ["PUT", "/debug/flags/v", 400],
  ["DELETE", "/pods", 405],
  ["GET", "/exec", 404],
];

describe("who may ask for what", () => {
  let api: ServedKubeletApi;
  let identities: Readonly<Record<string, KubeletRequest>>;

  beforeAll(async () => {
    api = await serveKubelet(serving, { config: x509() });
    api.view.put(runningPod("web"));
    api.reviews.users.set("reader", { username: "reader", groups: ["team"] });
    api.reviews.users.set("robot", { username: "robot" });
    api.reviews.allowed.add("robot * *").add("admin * *").add("reader get metrics");
    identities = {
      anonymous: {},
      "a certificate of another authority": shown(foreign.issue("/O=system:masters/CN=admin")),
      "a certificate without a name": shown(authority.issue("/O=system:masters")),
      "an unknown token": { token: "made-up" },
      "a password": { headers: { Authorization: "Basic YWRtaW46YWRtaW4=" } },
      "a certificate without rights": shown(authority.issue("/O=system:nodes/CN=node-2")),
      "a token without rights": { token: "reader" },
      "a certificate with rights": shown(authority.issue("/O=system:masters/CN=admin")),
      "a token with rights": { token: "robot" },
    };
  });

  afterAll(() => api.stop());

  test.each([
    ["anonymous", 401],
    ["a certificate of another authority", 401],
    ["a certificate without a name", 401],
    ["an unknown token", 401],
    ["a password", 401],
    ["a certificate without rights", 403],
    ["a token without rights", 403],
    ["a certificate with rights", undefined],
    ["a token with rights", undefined],
  ] as const)("%s", async (identity, refusal) => {
    const table: string[] = [];
    for (const [method, path, allowed] of endpoints) {
      const { status, headers } = await api.ask(path, { method, ...identities[identity] });
      const isOwn = identity === "a token without rights" && path.startsWith("/metrics");
      const expected = isOwn ? allowed : (refusal ?? allowed);
      expect(headers["content-type"]).toBeDefined();
      if (status !== expected) table.push(`${method} ${path}: ${status}, not ${expected}`);
    }
    expect(table).toEqual([]);
  });

  test("the user of a certificate or a token reaches the authorizer", async () => {
    const known = shown(authority.issue("/O=system:nodes/CN=node-3"));
    api.reviews.asked.length = 0;
    await api.ask("/pods", known);
    expect(api.reviews.asked.map(({ body }) => body)).toMatchObject([
      { spec: { user: "node-3", resourceAttributes: { subresource: "pods", name: "node-1" } } },
      { spec: { groups: ["system:nodes", "system:authenticated"] } },
    ]);
  });

  test("answers are those of the kubelet, byte for byte", async () => {
    expect(await api.ask("/pods")).toMatchObject({
      status: 401,
      body: "Unauthorized",
      headers: { "content-length": "12", "content-type": "text/plain; charset=utf-8" },
    });
    expect(await api.ask("/pods", identities["a certificate without rights"])).toMatchObject({
      body: "Forbidden (user=node-2, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
    });
    const admin = identities["a certificate with rights"] ?? {};
    expect(await api.ask("/", admin)).toMatchObject({
      status: 404,
      body: "404 page not found\n",
      headers: { "x-content-type-options": "nosniff" },
    });
    expect(await api.ask("/checkpoint/x/y/z", admin)).toMatchObject({
      status: 405,
      body: "405: Method Not Allowed",
      headers: { allow: "POST" },
    });
    expect(await api.ask("/healthz?verbose", admin)).toMatchObject({
      body: "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n",
    });
    expect(await api.ask("/debug/flags/v", admin)).toMatchObject({
      status: 406,
      body: "unsupported http method\n",
      headers: { "content-type": "text/plain" },
    });
    const pods = JSON.parse((await api.ask("/pods", admin)).body);
    expect(pods).toMatchObject({ kind: "PodList", apiVersion: "v1", metadata: {} });
    expect(pods.items[0].kind).toBeUndefined();
    const { kubeletconfig } = JSON.parse((await api.ask("/configz", admin)).body);
    expect(kubeletconfig).toMatchObject({ kind: "KubeletConfiguration", address: "127.0.0.1" });
    expect((await api.ask("/metrics", admin)).headers["content-type"]).toBe(
      "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
    );
  });

  test("to enter a container by a GET takes the right to create", async () => {
    api.reviews.users.set("viewer", { username: "viewer" });
    api.reviews.allowed.add("viewer get proxy");
    const path = "/exec/default/web/main?command=id&output=1";
    const request = { token: "viewer", headers: upgrade };
    expect(await api.ask(path, request)).toMatchObject({
      status: 403,
      body: "Forbidden (user=viewer, verb=create, resource=nodes, subresource(s)=[proxy])\n",
    });
    expect(await api.ask("/containerLogs/default/web/nope", request)).toMatchObject({
      status: 404,
    });
  });

  test("a WebSocket may send its token as a protocol", async () => {
    const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from("robot").toString("base64url")}`;
    const headers = (protocols: string) => ({ ...upgrade, "Sec-WebSocket-Protocol": protocols });
    const ask = async (protocols: string) =>
      (await api.ask("/pods", { headers: headers(protocols) })).status;
    expect(await ask(`${protocol}, v4.channel.k8s.io`)).toBe(200);
    expect(await ask(protocol)).toBe(401);
    expect(await ask("base64url.bearer.authorization.k8s.io.bm9ib2R5, x")).toBe(401);
  });
});

describe("what the API server says is remembered for a while", () => {
  test("a known user stays known while the API server is away; an unknown one is refused", async () => {
    const api = await serveKubelet(serving);
    api.reviews.users.set("robot", { username: "robot" });
    api.reviews.allowed.add("robot * *");
    expect((await api.ask("/pods", { token: "robot" })).status).toBe(200);
    api.reviews.isAway = true;
    expect((await api.ask("/pods", { token: "robot" })).status).toBe(200);
    expect((await api.ask("/pods", { token: "other" })).status).toBe(401);
    expect(await api.ask("/stats/summary", { token: "robot" })).toMatchObject({
      status: 500,
      body: "Authorization error (user=robot, verb=get, resource=nodes, subresource=stats)",
    });
    expect(api.logged.join("\n")).not.toContain("other");
    await api.stop();
  });
});

describe("what may be configured", () => {
  const { authentication, authorization } = fileDefaultConfig();

  test("without an API server tokens cannot be reviewed", async () => {
    await expect(serveKubelet(serving, { api: undefined })).rejects.toThrow(
      "no client provided, cannot use webhook authentication",
    );
    const noTokens = { ...authentication, webhook: { ...authentication.webhook, enabled: false } };
    await expect(
      serveKubelet(serving, { api: undefined, config: { authentication: noTokens } }),
    ).rejects.toThrow("no authentication method configured");
    const open = { ...noTokens, anonymous: { enabled: true } };
    await expect(
      serveKubelet(serving, { api: undefined, config: { authentication: open } }),
    ).rejects.toThrow("no client provided, cannot use webhook authorization");
  });

  test("anonymous users have the rights that they are given, and bad credentials are not anonymous", async () => {
    const open = { ...authentication, anonymous: { enabled: true } };
    const api = await serveKubelet(serving, { config: { authentication: open } });
    api.reviews.allowed.add("system:anonymous get healthz");
    expect((await api.ask("/healthz")).status).toBe(200);
    expect(await api.ask("/pods")).toMatchObject({
      status: 403,
      body: "Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
    });
    expect((await api.ask("/healthz", { token: "wrong" })).status).toBe(401);
    await api.stop();
  });

  test("without debugging handlers nothing enters a container", async () => {
    const config = { authorization: { ...authorization, mode: "AlwaysAllow" } };
    const api = await serveKubelet(serving, {
      config: { ...config, enableDebuggingHandlers: false },
    });
    api.reviews.users.set("robot", { username: "robot" });
    expect(await api.ask("/exec/default/web/main", { token: "robot" })).toMatchObject({
      status: 405,
      body: "Debug endpoints are disabled.\n",
    });
    expect((await api.ask("/configz", { token: "robot" })).status).toBe(404);
    expect((await api.ask("/pods", { token: "robot" })).status).toBe(200);
    await api.stop();
  });

  test("upstream's rule for entering containers can be had", async () => {
    const switches = { upstreamExecAuthorization: true, systemLogs: false };
    const api = await serveKubelet(serving, { switches });
    api.view.put(runningPod("web"));
    api.reviews.users.set("reader", { username: "reader" });
    api.reviews.allowed.add("reader get proxy");
    const path = "/exec/default/web/main?command=id&output=1";
    expect((await api.ask(path, { token: "reader" })).status).toBe(500);
    await api.stop();
  });

  test("the read-only port shows what is harmless, the health port only health", async () => {
    const [readOnlyPort, healthzPort] = [await freePort(), await freePort()];
    const api = await serveKubelet(serving, { config: { readOnlyPort, healthzPort } });
    const statuses = async (port: number, paths: readonly string[]) =>
      Promise.all(paths.map(async (path) => (await api.askPlain(port, path)).status));
    expect(
      await statuses(readOnlyPort, ["/pods", "/healthz", "/metrics", "/stats/summary"]),
    ).toEqual([200, 200, 200, 200]);
    expect(
      await statuses(readOnlyPort, ["/exec/a/b/c", "/run/a/b/c", "/containerLogs/a/b/c", "/logs/"]),
    ).toEqual([405, 405, 405, 405]);
    expect(
      await statuses(readOnlyPort, ["/configz", "/checkpoint/a/b/c", "/debug/flags/v", "/flagz"]),
    ).toEqual([404, 404, 404, 404]);
    expect(await statuses(healthzPort, ["/healthz", "/healthz/ping"])).toEqual([200, 200]);
    expect(
      await statuses(healthzPort, ["/", "/pods", "/metrics", "/debug/pprof/", "/healthz/syncloop"]),
    ).toEqual([404, 404, 404, 404, 404]);
    await api.stop();
  });

  test("the read-only port listens on the configured address", async () => {
    const readOnlyPort = await freePort();
    const config = { address: "127.0.0.2", readOnlyPort };
    const api = await serveKubelet(serving, { config });
    const answer = await fetch(`http://127.0.0.2:${readOnlyPort}/healthz`);
    expect(answer.status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${readOnlyPort}/healthz`)).rejects.toThrow("fetch failed");
    await api.stop();
  });

  test("profiles say where time and memory go, one at a time", async () => {
    const api = await serveKubelet(serving);
    api.reviews.users.set("robot", { username: "robot" });
    api.reviews.allowed.add("robot * *");
    const ask = (path: string) => api.ask(`/debug/pprof/${path}`, { token: "robot" });
    const answers = await Promise.all([ask("heap?seconds=0.2"), ask("heap?seconds=0.2")]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 500]));
    const time = await ask("profile?seconds=0.05");
    expect(JSON.parse(time.body)).toHaveProperty("nodes");
    const memory = await ask("heap?seconds=0.05");
    expect(JSON.parse(memory.body)).toHaveProperty("head");
    expect(memory.headers["content-disposition"]).toBe('attachment; filename="heap.heapprofile"');
    await api.stop();
  });

  test("a port that is taken is named with its setting", async () => {
    const api = await serveKubelet(serving);
    const { secure: port = 0 } = api.ports;
    await expect(serveKubelet(serving, { config: { port } })).rejects.toThrow(
      `cannot listen on 127.0.0.1 port ${port}`,
    );
    await api.stop();
  });
});
