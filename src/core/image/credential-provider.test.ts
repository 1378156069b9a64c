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
  const parsed = parseCredentialProviders(document, undefined);
  return parsed.ok ? [] : parsed.error;
}

test("a config file names its providers", () => {
  const more = { args: ["get"], env: [{ name: "A", value: "b" }] };
  expect(parseCredentialProviders(config([{ ...configured, ...more }]), undefined)).toEqual({
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
  expect(JSON.parse(credentialRequest(provider, "eu.registry.io/a", undefined))).toEqual({
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

const attributes = {
  serviceAccountTokenAudience: "registry.io",
  cacheType: "ServiceAccount",
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: ["registry.io/Role"],
  optionalServiceAccountAnnotationKeys: ["team"],
};

test("a provider may want tokens and annotations of service accounts", () => {
  const document = config([{ ...configured, tokenAttributes: attributes }]);
  expect(parseCredentialProviders(document, undefined)).toMatchObject({
    value: [
      {
        tokenAttributes: {
          audience: "registry.io",
          cacheType: "ServiceAccount",
          requiresAccount: true,
          requiredAnnotations: ["registry.io/Role"],
          optionalAnnotations: ["team"],
        },
      },
    ],
  });
  const refused = parseCredentialProviders(document, "there is no cluster");
  const errors = ["providers[0].tokenAttributes: there is no cluster"];
  expect(refused).toEqual({ ok: false, error: errors });
});

test.each([
  [{ serviceAccountTokenAudience: "" }, ".serviceAccountTokenAudience: name whom"],
  [{ cacheType: undefined }, ".cacheType: nothing is not one of ServiceAccount, Token"],
  [{ cacheType: "Pod" }, '.cacheType: "Pod" is not one of'],
  [{ requireServiceAccount: undefined }, ".requireServiceAccount: must be true or false"],
  [
    { requireServiceAccount: false },
    ".requiredServiceAccountAnnotationKeys: requireServiceAccount",
  ],
  [
    { requiredServiceAccountAnnotationKeys: ["a b"] },
    '.requiredServiceAccountAnnotationKeys: "a b"',
  ],
  [{ requiredServiceAccountAnnotationKeys: ["a", "a"] }, '"a" is there already'],
  [{ optionalServiceAccountAnnotationKeys: ["/x"] }, '.optionalServiceAccountAnnotationKeys: "/x"'],
  [{ optionalServiceAccountAnnotationKeys: ["registry.io/Role"] }, "both required and optional"],
  [{ cachetype: "Token" }, ".cachetype: unknown field, did you mean cacheType?"],
])("tokenAttributes with %j are refused by name", (change, error) => {
  const tokenAttributes = { ...attributes, ...change };
  const errors = errorsOf(config([{ ...configured, tokenAttributes }]));
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain("providers[0].tokenAttributes");
  expect(errors[0]).toContain(error);
});

test("tokens need the version of the requests that has them", () => {
  const apiVersion = "credentialprovider.kubelet.k8s.io/v1beta1";
  const errors = errorsOf(config([{ ...configured, apiVersion, tokenAttributes: attributes }]));
  expect(errors).toEqual([
    "providers[0].tokenAttributes: only a provider with apiVersion credentialprovider.kubelet.k8s.io/v1 gets tokens",
  ]);
});

test("a request has the token and the annotations of the service account, if there are any", () => {
  const account = { uid: "1", namespace: "ns", name: "builder" };
  const image = "eu.registry.io/a";
  const asked = (annotations: Readonly<Record<string, string>>): unknown =>
    JSON.parse(credentialRequest(provider, image, { account, token: "t", annotations }));
  const plain = {
    kind: "CredentialProviderRequest",
    apiVersion: provider.apiVersion,
    image,
    serviceAccountToken: "t",
  };
  expect(asked({ team: "a" })).toEqual({ ...plain, serviceAccountAnnotations: { team: "a" } });
  expect(asked({})).toEqual(plain);
});
