import { afterEach, expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { settle, VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { ApiError } from "../../model/api-error.ts";
import { ApiTrustBundles } from "./api-trust-bundles.ts";

const group = "/apis/certificates.k8s.io";
const lifetimes: AbortController[] = [];

afterEach(() => {
  for (const lifetime of lifetimes.splice(0)) lifetime.abort(new Error("the test is over"));
});

/** An API server that has trust bundles in these versions. */
function world(...versions: readonly string[]) {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  const lifetime = new AbortController();
  lifetimes.push(lifetime);
  const server = { versions, refuses: false };
  api.intercept(({ path }) => {
    const [, version] = /^\/apis\/certificates\.k8s\.io\/(\w+)$/.exec(path) ?? [];
    if (version === undefined) return undefined;
    if (server.refuses) throw new ApiError(503, "ServiceUnavailable", "the server is starting");
    if (version === "v1beta1") {
      const isThere = server.versions.includes(version);
      return { resources: [{ name: isThere ? "clustertrustbundles" : "podcertificaterequests" }] };
    }
    if (!server.versions.includes(version)) throw new ApiError(404, "NotFound", "not found");
    return { resources: [{ name: "clustertrustbundles" }] };
  });
  const deps = { api, clock, random: () => 0, log: silentLog, lifetime: lifetime.signal };
  const bundles = new ApiTrustBundles(deps);
  const ask = (name: string) => bundles.anchors({ path: "ca.pem", name }, lifetime.signal);
  return { api, clock, server, ask };
}

function bundle(content: string): object {
  const text = Buffer.from(content).toString("base64");
  return {
    spec: { trustBundle: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n` },
  };
}

function shown(content: string): object {
  return {
    ok: true,
    value: expect.stringContaining(`\n${Buffer.from(content).toString("base64")}\n`),
  };
}

test("nothing is read until a pod asks; then bundles are watched once, for all pods", async () => {
  const { api, ask } = world("v1beta1");
  api.put(`${group}/v1beta1/clustertrustbundles/ca`, bundle("one"));
  await settle();
  expect(api.requests).toEqual([]);
  expect(await Promise.all([ask("ca"), ask("ca")])).toEqual([shown("one"), shown("one")]);
  expect(await ask("ca")).toEqual(shown("one"));
  expect(api.watchCount).toBe(1);
});

test("a bundle that changes, comes or goes is as it is now for the next who asks", async () => {
  const { api, ask } = world("v1beta1");
  const path = `${group}/v1beta1/clustertrustbundles/ca`;
  expect(await ask("ca")).toMatchObject({ ok: false });
  api.put(path, bundle("one"));
  await settle();
  expect(await ask("ca")).toEqual(shown("one"));
  api.put(path, bundle("two"));
  await settle();
  expect(await ask("ca")).toEqual(shown("two"));
  api.remove(path);
  await settle();
  expect(await ask("ca")).toMatchObject({ error: expect.stringContaining('"ca" not found') });
});

test("an API server that has bundles in an older version only is asked for that", async () => {
  const { api, ask } = world("v1alpha1");
  api.put(`${group}/v1alpha1/clustertrustbundles/ca`, bundle("one"));
  expect(await ask("ca")).toEqual(shown("one"));
});

test("an API server without bundles is asked again by the next who asks", async () => {
  const { api, server, ask } = world();
  api.put(`${group}/v1beta1/clustertrustbundles/ca`, bundle("one"));
  expect(await ask("ca")).toMatchObject({
    error: expect.stringMatching(/^the API server has no ClusterTrustBundles: .*--runtime-config/),
  });
  server.versions = ["v1beta1"];
  expect(await ask("ca")).toEqual(shown("one"));
});

test("an API server that does not say what it has is asked again, not taken for one without bundles", async () => {
  const { api, server, ask } = world("v1beta1");
  api.put(`${group}/v1beta1/clustertrustbundles/ca`, bundle("one"));
  server.refuses = true;
  expect(await ask("ca")).toEqual({
    ok: false,
    error: "cannot read ClusterTrustBundles: the server is starting",
  });
  server.refuses = false;
  expect(await ask("ca")).toEqual(shown("one"));
});

test("bundles that cannot be listed keep a volume waiting for ten seconds, and it says why", async () => {
  const { api, clock, ask } = world("v1beta1");
  const refusal = new ApiError(403, "Forbidden", "no access to trust bundles");
  api.watch = () => Promise.reject(refusal);
  api.intercept(({ path }) =>
    path.endsWith("/clustertrustbundles") ? Promise.reject(refusal) : undefined,
  );
  const asked = ask("ca");
  await clock.advance(10_000);
  expect(await asked).toEqual({
    ok: false,
    error: "cannot read ClusterTrustBundles: no access to trust bundles",
  });
});
