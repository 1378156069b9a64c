import { expect, test } from "vitest";
import type { CredentialProvider } from "../../core/image/credential-provider.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
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

function world(providers: readonly CredentialProvider[], reply: () => string | Promise<string>) {
  const time = { ms: 0 };
  const calls: CredentialPluginCall[] = [];
  const logged: unknown[] = [];
  const log = (...entry: readonly unknown[]): void => void logged.push(entry);
  const registry = new MetricsRegistry(metricDefinitions);
  const asked = new CredentialProviders({
    providers,
    plugins: {
      run: async (call) => {
        calls.push(call);
        return reply();
      },
    },
    clock: { nowMs: () => time.ms, monotonicMs: () => time.ms },
    metrics: registry,
    log: { debug: log, info: log, warn: log, error: log },
    lifetime: new AbortController().signal,
  });
  const { signal } = new AbortController();
  const users = async (repository: string) =>
    (await asked.logins(repository, signal)).map(({ username }) => username);
  return { time, calls, logged, asked, users, registry };
}

test.each([
  { cacheKeyType: "Image", same: "a.io/x", other: "a.io/y" },
  { cacheKeyType: "Registry", same: "a.io/y", other: "b.io/x" },
  { cacheKeyType: "Global", same: "b.io/x", other: undefined },
])(
  "an answer for $cacheKeyType is kept for what it is for",
  async ({ cacheKeyType, same, other }) => {
    const { time, calls, users } = world([provider("p")], () => answer({ cacheKeyType }));
    await users("a.io/x");
    await users(same);
    expect(calls).toHaveLength(1);
    if (other !== undefined) await users(other);
    expect(calls).toHaveLength(other === undefined ? 1 : 2);
    time.ms = 60_001;
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
  const waiting = asked.logins("a.io/x", stop.signal);
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
