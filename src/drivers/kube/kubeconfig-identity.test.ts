import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { createTestAuthority, type TestAuthority } from "../../../test/kit/test-authority.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { Log } from "../../ports/log.ts";
import { ExecPluginCredentials } from "./exec-plugin.ts";
import type { IdentitySource } from "./identity.ts";
import type { ExecPlugin, KubeUser } from "./kubeconfig.ts";
import { kubeconfigIdentity } from "./kubeconfig-identity.ts";

const { signal } = new AbortController();
const warnings: string[] = [];
const log: Log = {
  ...silentLog,
  warn: (message, fields) => warnings.push(`${message} ${JSON.stringify(fields)}`),
};

let authority: TestAuthority;
let pairs: readonly KeyPair[];
let folder: string;

beforeAll(() => {
  authority = createTestAuthority();
  pairs = ["a", "b"].map((name) => authority.issue(`/CN=${name}`));
});
afterAll(() => authority.remove());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-identity-"));
  warnings.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

function identityOf(user: KubeUser): IdentitySource {
  const cluster = { server: "https://api:6443", skipVerification: false, execConfig: { a: 1 } };
  return kubeconfigIdentity({ user, cluster, caPem: "CA", log, metrics: noMetrics });
}

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o700 });
  return path;
}

function pluginOf(script: string, plugin: Partial<ExecPlugin> = {}): ExecPlugin {
  return {
    apiVersion: "client.authentication.k8s.io/v1",
    command: write("plugin", `#!/bin/sh\n${script}\n`),
    args: [],
    env: {},
    provideClusterInfo: false,
    installHint: "",
    ...plugin,
  };
}

function credential(status: unknown): string {
  const object = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status };
  return `cat <<'END'\n${JSON.stringify(object)}\nEND`;
}

test("a token, a name with a password and an impersonated user become headers", async () => {
  const impersonation = { user: "eve", uid: "7", groups: ["x", "y"], extra: { "a/b": ["c"] } };
  const token = identityOf({ token: "secret", impersonation });
  expect((await token.current(signal)).headers).toEqual({
    Authorization: "Bearer secret",
    "Impersonate-User": "eve",
    "Impersonate-Uid": "7",
    "Impersonate-Group": ["x", "y"],
    "Impersonate-Extra-a%2Fb": ["c"],
  });
  expect(await token.refresh(await token.current(signal), signal)).toBe(false);
  const basic = identityOf({ basic: { username: "u", password: "p" } });
  expect((await basic.current(signal)).headers).toEqual({ Authorization: "Basic dTpw" });
});

test("a token file is read again after a 401, and its last token stays while it cannot be read", async () => {
  const tokenFile = write("token", " one\n");
  const identity = identityOf({ tokenFile });
  const first = await identity.current(signal);
  expect(first.headers).toEqual({ Authorization: "Bearer one" });
  write("token", "two");
  expect((await identity.current(signal)).headers).toEqual(first.headers);
  expect(await identity.refresh(first, signal)).toBe(true);
  rmSync(tokenFile);
  const second = await identity.current(signal);
  expect(second.headers).toEqual({ Authorization: "Bearer two" });
  expect(await identity.refresh(second, signal)).toBe(false);
});

test("a missing or empty token file is reported by its name", () => {
  expect(() => identityOf({ tokenFile: join(folder, "none") })).toThrow(/token file .*none/);
  expect(() => identityOf({ tokenFile: write("empty", "\n") })).toThrow("it is empty");
  mkdirSync(join(folder, "folder"));
  expect(() => identityOf({ tokenFile: join(folder, "folder") })).toThrow("EISDIR");
});

test("certificate files are read again when a link is turned, and damaged ones do no harm", async () => {
  const [a, b] = pairs;
  for (const [name, pair] of Object.entries({ a, b })) {
    write(`${name}.pem`, `${pair?.certPem}${pair?.keyPem}`);
  }
  const current = join(folder, "current.pem");
  symlinkSync("a.pem", current);
  const source = { kind: "file", path: current } as const;
  const identity = identityOf({ certificate: { cert: source, key: source } });
  expect((await identity.current(signal)).pair?.certPem).toContain(a?.certPem);
  rmSync(current);
  symlinkSync("b.pem", current);
  expect((await identity.current(signal)).pair?.certPem).toContain(b?.certPem);
  write("b.pem", `${b?.certPem}${a?.keyPem}`);
  expect((await identity.current(signal)).pair?.certPem).toContain(b?.certPem);
  await identity.current(signal);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain("does not belong to the certificate");
  rmSync(current);
  expect((await identity.current(signal)).pair?.keyPem).toContain(b?.keyPem);
});

test("unusable client certificates are reported without the key", () => {
  const [a, b] = pairs;
  const user = (cert = "", key = ""): KubeUser => ({
    certificate: { cert: { kind: "data", pem: cert }, key: { kind: "data", pem: key } },
  });
  expect(() => identityOf(user(a?.certPem, b?.keyPem))).toThrow("does not belong");
  expect(() => identityOf(user(a?.certPem, "canary"))).toThrow(/^there is no usable private key/);
  expect(() => identityOf(user("", a?.keyPem))).toThrow("there is no certificate");
  const damaged = a?.certPem.replace(/\n.{20}/, "\n");
  expect(() => identityOf(user(damaged, a?.keyPem))).toThrow("is damaged");
});

test("a plugin gets its arguments, variables and the cluster, and its token is kept", async () => {
  const exec = pluginOf(
    `echo "$1|$WORD|\${PATH:+path}|$KUBERNETES_EXEC_INFO" >> ${join(folder, "calls")}\n${credential({ token: "t" })}`,
    { args: ["a b; $(id)"], env: { WORD: "w" }, provideClusterInfo: true },
  );
  const identity = identityOf({ exec });
  const first = await identity.current(signal);
  expect(first.headers).toEqual({ Authorization: "Bearer t" });
  await Promise.all([identity.current(signal), identity.current(signal)]);
  const calls = readFileSync(join(folder, "calls"), "utf8");
  expect(calls.split("\n")).toHaveLength(2);
  const [argument, word, path, info] = calls.trim().split("|");
  expect([argument, word, path]).toEqual(["a b; $(id)", "w", "path"]);
  expect(JSON.parse(info ?? "")).toEqual({
    kind: "ExecCredential",
    apiVersion: "client.authentication.k8s.io/v1",
    spec: {
      cluster: {
        server: "https://api:6443",
        "certificate-authority-data": "Q0E=",
        config: { a: 1 },
      },
      interactive: false,
    },
  });
});

test("a plugin is asked again after its credentials expired, and after a 401 once for all who were refused", async () => {
  const counter = join(folder, "count");
  const script = (status: string): string =>
    `echo x >> ${counter}; n=$(wc -l < ${counter})\n` +
    `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t'$n'"${status}}}'`;
  const identity = identityOf({ exec: pluginOf(script("")) });
  const first = await identity.current(signal);
  const again = await Promise.all([1, 2].map(() => identity.refresh(first, signal)));
  expect(again).toEqual([true, true]);
  expect((await identity.current(signal)).headers).toEqual({ Authorization: "Bearer t2" });
  const past = ',"expirationTimestamp":"2020-01-01T00:00:00Z"';
  const expiring = identityOf({ exec: pluginOf(script(past)) });
  await expiring.current(signal);
  expect((await expiring.current(signal)).headers).toEqual({ Authorization: "Bearer t4" });
});

test("a plugin may hand out a certificate", async () => {
  const [a] = pairs;
  const status = { clientCertificateData: a?.certPem, clientKeyData: a?.keyPem };
  const identity = identityOf({ exec: pluginOf(credential(status)) });
  expect((await identity.current(signal)).pair).toEqual(a);
});

test.each([
  ["fails", "echo canary; echo no access >&2; exit 3", "it failed with exit code 3: no access"],
  ["prints garbage", "echo canary", "it printed something that is not a JSON object"],
  ["prints another version", `echo '{"apiVersion":"v1","kind":"ExecCredential"}'`, "did not print"],
  ["prints no credentials", credential({}), "neither a token nor a certificate"],
  ["prints half a pair", credential({ clientKeyData: "canary" }), "without its key"],
  [
    "prints a bad pair",
    credential({ clientCertificateData: "x", clientKeyData: "canary" }),
    "no certificate",
  ],
  ["prints a bad time", credential({ token: "canary", expirationTimestamp: "x" }), "is not a time"],
  ["prints without end", "yes canary", "printed too much"],
])("a plugin that %s is reported without what it printed", async (_, script, message) => {
  const failure = await identityOf({ exec: pluginOf(script) })
    .current(signal)
    .catch(String);
  expect(failure).toContain(message);
  expect(failure).not.toContain("canary");
});

test("a plugin that hangs is stopped, and one who waits for it can leave before", async () => {
  const plugin = pluginOf("exec sleep 60");
  const options = { plugin, cluster: {}, metrics: noMetrics };
  const short = new ExecPluginCredentials({ ...options, timeoutMs: 50 });
  await expect(short.current(signal)).rejects.toThrow("took longer than 0.05 s");
  const stop = new AbortController();
  const waiting = new ExecPluginCredentials({ ...options, timeoutMs: 500 }).current(stop.signal);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

test("a missing plugin is reported with the hint where to get it", async () => {
  const exec = pluginOf("", { command: join(folder, "none"), installHint: "install it from here" });
  await expect(identityOf({ exec }).current(signal)).rejects.toThrow(
    /none gave no credentials: it could not be run \(ENOENT\); install it from here/,
  );
});
