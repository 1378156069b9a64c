import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { CredentialProvider } from "../../core/image/credential-provider.ts";
import type { TokenAttributes } from "../../core/image/token-attributes.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { ok } from "../../lib/result.ts";
import { ApiError } from "../../model/api-error.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import type { Pod } from "../../model/pod.ts";
import type { ServiceAccountTokenRequest } from "../../model/service-account-token.ts";
import type { CredentialPluginCall } from "../../ports/credential-plugins.ts";
import { CredentialProviders } from "./credential-providers.ts";

const canary = "canary-0c11";
const apiVersion = "credentialprovider.kubelet.k8s.io/v1";

function provider(name: string, changes: Partial<CredentialProvider> = {}): CredentialProvider {
  const matchImages = ["*.io"];
  return { name, matchImages, defaultCacheMs: 60_000, apiVersion, args: [], env: {}, ...changes };
}

function answer(changes: object = {}): string {
  const auth = { "a.io": { username: "u", password: canary } };
  const kind = "CredentialProviderResponse";
  return JSON.stringify({ apiVersion, kind, cacheKeyType: "Image", auth, ...changes });
}

const pod = testPod({ containers: [] });

/** A cluster whose service accounts have these annotations, and whose tokens are named after their pods. */
function accountsApi(clock: VirtualClock) {
  const api = new MemoryApi(() => clock.nowMs());
  const annotations: Record<string, string> = {};
  api.intercept(({ path }) => {
    const name = path.split("/").at(-1) ?? "";
    if (name === "forbidden") throw new ApiError(403, "Forbidden", "not for this node");
    return { metadata: { uid: `uid of ${name}`, name, annotations } };
  });
  const request = async ({ spec }: ServiceAccountTokenRequest) =>
    ok({ token: `token of ${spec.boundObjectRef.uid}`, expiresAtMs: 0 });
  return { api, annotations, tokens: { request } };
}

function world(providers: readonly CredentialProvider[], reply: () => string | Promise<string>) {
  const calls: CredentialPluginCall[] = [];
  const logged: unknown[] = [];
  const log = (...entry: readonly unknown[]): void => void logged.push(entry);
  const registry = new MetricsRegistry(metricDefinitions);
  const clock = new VirtualClock();
  const accounts = accountsApi(clock);
  const asked = new CredentialProviders({
    providers,
    plugins: {
      run: async (call) => {
        calls.push(call);
        return reply();
      },
    },
    apiServer: accounts,
    cluster: accounts,
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
    clock,
    metrics: registry,
    log: { debug: log, info: log, warn: log, error: log },
    lifetime: new AbortController().signal,
  });
  const { signal } = new AbortController();
  const logins = (repository: string, asking: Pod = pod) =>
    asked.logins(repository, asking, signal);
  const users = async (repository: string) =>
    (await logins(repository)).map(({ username }) => username);
  return { clock, calls, logged, asked, logins, users, registry, accounts };
}

test.each([
  { cacheKeyType: "Image", same: "a.io/x", other: "a.io/y" },
  { cacheKeyType: "Registry", same: "a.io/y", other: "b.io/x" },
  { cacheKeyType: "Global", same: "b.io/x", other: undefined },
])(
  "an answer for $cacheKeyType is kept for what it is for",
  async ({ cacheKeyType, same, other }) => {
    const { clock, calls, users } = world([provider("p")], () => answer({ cacheKeyType }));
    await users("a.io/x");
    await users(same);
    expect(calls).toHaveLength(1);
    if (other !== undefined) await users(other);
    expect(calls).toHaveLength(other === undefined ? 1 : 2);
    await clock.advance(60_001);
    await users("a.io/x");
    expect(calls).toHaveLength(other === undefined ? 2 : 3);
  },
);

test("an answer that is not to be kept is asked for each time", async () => {
  const { calls, users } = world([provider("p")], () => answer({ cacheDuration: "0s" }));
  await users("a.io/x");
  await users("a.io/x");
  expect(calls).toHaveLength(2);
});

test("those who ask for the same at once share one run", async () => {
  const { calls, users } = world([provider("p")], () => answer());
  expect(await Promise.all([users("a.io/x"), users("a.io/x")])).toEqual([["u"], ["u"]]);
  expect(calls).toHaveLength(1);
});

test("only providers that match are asked, and all of them", async () => {
  const providers = [provider("p"), provider("q"), provider("r", { matchImages: ["b.io"] })];
  const { calls, users } = world(providers, () => answer());
  expect(await users("a.io/x")).toEqual(["u", "u"]);
  expect(calls.map(({ name }) => name)).toEqual(["p", "q"]);
});

test("a provider that fails or answers nonsense gives no login, and its answer is not logged", async () => {
  const failing = world([provider("p")], () => Promise.reject(new Error("it is broken")));
  expect(await failing.users("a.io/x")).toEqual([]);
  expect(JSON.stringify(failing.logged)).toContain("it is broken");
  const counted = failing.registry.text((name) => name.startsWith("kubelet_credential_provider"));
  expect(counted).toContain('kubelet_credential_provider_plugin_errors_total{plugin_name="p"} 1');
  expect(counted).toContain('kubelet_credential_provider_plugin_duration_count{plugin_name="p"} 1');
  const odd = world([provider("p")], () => answer({ cacheKeyType: canary }));
  expect(await odd.users("a.io/x")).toEqual([]);
  expect(odd.logged).toHaveLength(1);
  expect(JSON.stringify(odd.logged)).not.toContain(canary);
});

test("who waits for a slow provider can give up", async () => {
  const { asked } = world([provider("p")], () => new Promise<string>(() => undefined));
  const stop = new AbortController();
  const waiting = asked.logins("a.io/x", pod, stop.signal);
  stop.abort(new Error("pod deleted"));
  await expect(waiting).rejects.toThrow("pod deleted");
});

test("answers for a thousand images are kept, and the oldest are asked for again", async () => {
  const { calls, users } = world([provider("p")], () => answer({ cacheKeyType: "Image" }));
  for (let index = 0; index < 1001; index += 1) await users(`a.io/image-${index}`);
  await users("a.io/image-1000");
  expect(calls).toHaveLength(1001);
  await users("a.io/image-0");
  expect(calls).toHaveLength(1002);
});

const attributes: TokenAttributes = {
  audience: "a.io",
  cacheType: "ServiceAccount",
  requiresAccount: true,
  requiredAnnotations: [],
  optionalAnnotations: [],
};

function accountsWorld(
  cacheType: TokenAttributes["cacheType"],
  reply: () => string = answer,
): ReturnType<typeof world> {
  const tokenAttributes = { ...attributes, cacheType, optionalAnnotations: ["team"] };
  return world([provider("p", { tokenAttributes })], reply);
}

const podOf = (serviceAccountName: string, uid: string): Pod =>
  testPod({ containers: [], serviceAccountName }, { uid });

test.each([
  { cacheType: "ServiceAccount", runs: 1 },
  { cacheType: "Token", runs: 2 },
] as const)(
  "an answer for a service account is kept by $cacheType, and never for another one",
  async ({ cacheType, runs }) => {
    const made = accountsWorld(cacheType, () => answer({ cacheKeyType: "Global" }));
    const [login] = await made.logins("a.io/x", podOf("builder", "1"));
    expect(login).toMatchObject({ username: "u", account: { name: "builder" } });
    await made.logins("a.io/x", podOf("builder", "1"));
    expect(made.calls).toHaveLength(1);
    await made.logins("b.io/y", podOf("builder", "2"));
    expect(made.calls).toHaveLength(runs);
    await made.logins("a.io/x", podOf("default", "1"));
    expect(made.calls).toHaveLength(runs + 1);
    made.accounts.annotations["team"] = "a";
    await made.logins("a.io/x", podOf("default", "1"));
    expect(made.calls).toHaveLength(runs + 2);
    expect(JSON.parse(made.calls.at(-1)?.input ?? "")).toMatchObject({
      serviceAccountToken: "token of 1",
      serviceAccountAnnotations: { team: "a" },
    });
  },
);

test("pods that ask at once share a run only when their tokens are the same", async () => {
  const { calls, logins } = accountsWorld("ServiceAccount");
  const asking = [podOf("a", "1"), podOf("a", "1"), podOf("a", "2")];
  await Promise.all(asking.map((each) => logins("a.io/x", each)));
  expect(calls).toHaveLength(2);
});

test("a provider that gives the pod's token back as a password is refused, unless answers are kept by token", async () => {
  const echo = (): string =>
    answer({ auth: { "a.io": { username: "u", password: "token of 1" } } });
  const kept = accountsWorld("ServiceAccount", echo);
  expect(await kept.logins("a.io/x", podOf("a", "1"))).toEqual([]);
  expect(JSON.stringify(kept.logged)).toContain("needs cacheType Token");
  const byToken = accountsWorld("Token", echo);
  expect(await byToken.logins("a.io/x", podOf("a", "1"))).toMatchObject([{ username: "u" }]);
});

test("a token that a provider complains of is not logged", async () => {
  const { logins, logged } = accountsWorld("Token", () => {
    throw new Error("bad token of 1");
  });
  expect(await logins("a.io/x", podOf("a", "1"))).toEqual([]);
  expect(JSON.stringify(logged)).toContain("bad (token)");
  expect(JSON.stringify(logged)).not.toContain("token of 1");
});

test("a provider is not asked for a pod that it is not for, nor when its token cannot be had, and that is logged", async () => {
  const { calls, logins, logged } = accountsWorld("Token");
  expect(await logins("a.io/x")).toEqual([]);
  expect(await logins("a.io/x", podOf("forbidden", "1"))).toEqual([]);
  expect(calls).toEqual([]);
  expect(JSON.stringify(logged)).toContain("the pod has no service account");
  expect(JSON.stringify(logged)).toContain("not for this node");
});

test("a provider that does not require a service account is asked for other pods without a token", async () => {
  const tokenAttributes = { ...attributes, requiresAccount: false };
  const { calls, logins } = world([provider("p", { tokenAttributes })], () => answer());
  const [login] = await logins("a.io/x");
  expect(login).toMatchObject({ username: "u" });
  expect(login).not.toHaveProperty("account");
  expect(JSON.parse(calls[0]?.input ?? "")).not.toHaveProperty("serviceAccountToken");
});
