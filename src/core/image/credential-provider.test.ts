import { expect, test } from "vitest";
import {
  type CredentialProvider,
  credentialRequest,
  isProviderOf,
  parseCredentialAnswer,
  parseCredentialProviders,
} from "./credential-provider.ts";

const canary = "canary-77d0";

const provider: CredentialProvider = {
  name: "helper",
  matchImages: ["*.registry.io"],
  defaultCacheMs: 60_000,
  apiVersion: "credentialprovider.kubelet.k8s.io/v1",
  args: [],
  env: {},
};

const configured = {
  name: "helper",
  matchImages: ["*.registry.io", "127.0.0.1:5000/private"],
  defaultCacheDuration: "1m",
  apiVersion: "credentialprovider.kubelet.k8s.io/v1",
};

function config(providers: unknown) {
  return {
    apiVersion: "kubelet.config.k8s.io/v1",
    kind: "CredentialProviderConfig",
    providers,
  };
}

function errorsOf(document: unknown): readonly string[] {
  const parsed = parseCredentialProviders(document);
  return parsed.ok ? [] : parsed.error;
}

test("a config file names its providers", () => {
  const more = { args: ["get"], env: [{ name: "A", value: "b" }] };
  expect(parseCredentialProviders(config([{ ...configured, ...more }]))).toEqual({
    ok: true,
    value: [
      {
        name: "helper",
        matchImages: configured.matchImages,
        defaultCacheMs: 60_000,
        apiVersion: configured.apiVersion,
        args: ["get"],
        env: { A: "b" },
      },
    ],
  });
});

test.each([
  [{ name: "a/b" }, "providers[0].name"],
  [{ name: ".." }, "providers[0].name"],
  [{ name: "a b" }, "providers[0].name"],
  [{ matchImages: [] }, "providers[0].matchImages: at least one"],
  [{ matchImages: ["registry.io:x"] }, "providers[0].matchImages"],
  [{ defaultCacheDuration: "-1s" }, "providers[0].defaultCacheDuration"],
  [{ defaultCacheDuration: 60 }, "providers[0].defaultCacheDuration"],
  [{ apiVersion: "v1" }, "providers[0].apiVersion"],
  [{ args: "x" }, "providers[0].args"],
  [{ env: [{ value: "x" }] }, "providers[0].env"],
  [
    { tokenAttributes: {} },
    "providers[0].tokenAttributes: service account tokens come from a cluster",
  ],
  [{ matchImage: ["a"] }, "providers[0].matchImage: unknown field, did you mean matchImages?"],
])("%j is refused by name", (change, error) => {
  const errors = errorsOf(config([{ ...configured, ...change }]));
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain(error);
});

test("a file that is something else is refused", () => {
  expect(errorsOf([])).toHaveLength(1);
  expect(errorsOf(config([]))).toEqual(["providers: at least one is needed"]);
  expect(errorsOf({ ...config([configured]), kind: "Pod" })).toHaveLength(1);
  expect(errorsOf({ ...config([configured]), apiVersion: "v1" })).toHaveLength(1);
  expect(errorsOf(config([configured, configured]))).toEqual([
    'providers[1].name: "helper" is there already',
  ]);
});

test("a provider is asked for the images that it matches", () => {
  expect(isProviderOf(provider, "eu.registry.io/a")).toBe(true);
  expect(isProviderOf(provider, "registry.io/a")).toBe(false);
  expect(JSON.parse(credentialRequest(provider, "eu.registry.io/a"))).toEqual({
    kind: "CredentialProviderRequest",
    apiVersion: provider.apiVersion,
    image: "eu.registry.io/a",
  });
});

function answer(change: object) {
  return JSON.stringify({
    kind: "CredentialProviderResponse",
    apiVersion: provider.apiVersion,
    cacheKeyType: "Registry",
    auth: { "eu.registry.io": { username: "u", password: canary } },
    ...change,
  });
}

test("an answer holds as long as it says, or else as long as the config says", () => {
  const logins = [{ address: "eu.registry.io", username: "u", password: canary }];
  expect(parseCredentialAnswer(provider, answer({}))).toEqual({
    ok: true,
    value: { scope: "Registry", cacheMs: 60_000, logins },
  });
  for (const [cacheDuration, cacheMs] of [
    ["0s", 0],
    ["1h", 3_600_000],
  ] as const) {
    expect(parseCredentialAnswer(provider, answer({ cacheDuration }))).toMatchObject({
      value: { cacheMs },
    });
  }
});

test.each([
  canary,
  JSON.stringify([canary]),
  answer({ apiVersion: canary }),
  answer({ kind: canary }),
  answer({ cacheKeyType: canary }),
  answer({ cacheDuration: canary }),
  answer({ auth: { "a.io": canary } }),
  answer({ auth: { "a.io": { username: canary } } }),
  answer({ [canary]: 1 }),
])("a wrong answer is refused without a word of it: %s", (text) => {
  const parsed = parseCredentialAnswer(provider, text);
  expect(parsed.ok).toBe(false);
  expect(JSON.stringify(parsed)).not.toContain(canary);
});
