import { afterEach, expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { settle, VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { formatTime } from "../../lib/time.ts";
import { ApiError } from "../../model/api-error.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { podUid } from "../../model/ids.ts";
import type { PodCertificateRequest } from "../../model/pod-certificate.ts";
import { PodTable } from "../pods/pod-table.ts";
import { ApiPodCertificates } from "./api-pod-certificates.ts";

const collection = "/apis/certificates.k8s.io/v1beta1/podcertificaterequests";
const signerName = "example.com/mesh";
const uid = podUid("uid-1");
const pod = testPod(
  { containers: [{ name: "main" }], serviceAccountName: "robot" },
  { name: "web", namespace: "ns", uid },
);
const hourMs = 3_600_000;
const lifetimes: AbortController[] = [];

afterEach(() => {
  for (const lifetime of lifetimes.splice(0)) lifetime.abort(new Error("the test is over"));
});

function world() {
  const clock = new VirtualClock();
  let objects = 0;
  const newUid = (): string => `${(objects += 1)}`.padStart(5, "0");
  const api = new MemoryApi(() => clock.nowMs(), { newUid });
  api.put("/api/v1/namespaces/ns/serviceaccounts/robot", {});
  const nodes = new Map([["node-a", { metadata: { name: "node-a", uid: "uid-of-node" } }]]);
  const table = new PodTable();
  table.writer("wanted").set(uid, pod);
  const lifetime = new AbortController();
  lifetimes.push(lifetime);
  const events: string[] = [];
  const noted: string[] = [];
  let keys = 0;
  const certificates = new ApiPodCertificates({
    api,
    clock,
    random: () => 0,
    log: silentLog,
    nodeName: "node-a",
    nodes: { items: nodes },
    podKeys: {
      create: async (keyType) => ({ keyPem: `${keyType} ${(keys += 1)} `, request: "c3R1Yg==" }),
    },
    podEvents: { record: (_, { reason, message }) => void events.push(`${reason}: ${message}`) },
    table,
    wakeups: { noteObject: (changed) => void noted.push(changed) },
    lifetime: lifetime.signal,
  });
  const ask = (sourceIndex = 0) => {
    const projection = { signerName, keyType: "ED25519", maxExpirationSeconds: 7200 };
    const wanted = { pod, volumeName: "tls", sourceIndex, projection };
    return certificates.credentials(wanted, lifetime.signal);
  };
  const requests = () => api.list(collection) as unknown as readonly PodCertificateRequest[];
  const decide = async (type: string, chain = "bGVhZg==") => {
    const last = requests().at(-1);
    const path = `/apis/certificates.k8s.io/v1beta1/namespaces/ns/podcertificaterequests/${last?.metadata?.name}`;
    const status = {
      conditions: [{ type, status: "True", reason: "Why", message: "so" }],
      certificateChain: `-----BEGIN CERTIFICATE-----\n${chain}\n-----END CERTIFICATE-----\n`,
      beginRefreshAt: formatTime(clock.nowMs() + hourMs),
      notAfter: formatTime(clock.nowMs() + 2 * hourMs),
    };
    api.put(path, { ...api.get(path), status });
    await settle();
  };
  return { api, clock, nodes, table, certificates, events, noted, ask, requests, decide };
}

const notYet = { ok: false, error: "credential bundle is not issued yet" };

function shown(keyPem: string, content = "bGVhZg=="): object {
  return { ok: true, value: { keyPem, chainPem: expect.stringContaining(`\n${content}\n`) } };
}

test("nothing is asked of the API server before a volume wants a certificate", async () => {
  const { api } = world();
  await settle();
  expect(api.requests).toEqual([]);
});

test("a request says for which pod, account and node it is, and goes with its pod", async () => {
  const { api, ask, requests } = world();
  expect(await ask()).toEqual(notYet);
  const account = api.get("/api/v1/namespaces/ns/serviceaccounts/robot");
  expect(requests()).toMatchObject([
    {
      apiVersion: "certificates.k8s.io/v1beta1",
      kind: "PodCertificateRequest",
      metadata: {
        namespace: "ns",
        name: expect.stringMatching(/^req-/),
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "uid-1" }],
      },
      spec: {
        signerName,
        podName: "web",
        podUID: "uid-1",
        serviceAccountName: "robot",
        serviceAccountUID: account?.metadata.uid,
        nodeName: "node-a",
        nodeUID: "uid-of-node",
        maxExpirationSeconds: 7200,
        stubPKCS10Request: "c3R1Yg==",
      },
    },
  ]);
  await settle();
  const watches = api.requests.filter(({ path }) => path === collection);
  expect(watches.map(({ query }) => query?.["fieldSelector"])).toEqual(["spec.nodeName=node-a"]);
});

test("a volume is tried again when its certificate is issued, and asks once for it", async () => {
  const { ask, decide, noted, requests } = world();
  await ask();
  await settle();
  expect(await ask()).toEqual(notYet);
  noted.length = 0;
  await decide("Issued");
  expect(noted).toEqual(["uid-1"]);
  expect(await ask()).toEqual(shown("ED25519 1 "));
  expect(await ask()).toEqual(shown("ED25519 1 "));
  expect(requests()).toHaveLength(1);
});

test("each source has a key and a certificate of its own", async () => {
  const { ask, decide, requests } = world();
  await ask(0);
  await decide("Issued", "b25l");
  await ask(1);
  await decide("Issued", "dHdv");
  expect(await ask(0)).toEqual(shown("ED25519 1 ", "b25l"));
  expect(await ask(1)).toEqual(shown("ED25519 2 ", "dHdv"));
  expect(requests()).toHaveLength(2);
});

test("a certificate is renewed when it is time, with a new key, and shown until then", async () => {
  const { clock, ask, decide, requests } = world();
  await ask();
  await decide("Issued");
  await ask();
  await clock.advance(hourMs);
  expect(await ask()).toEqual(shown("ED25519 1 "));
  expect(requests()).toHaveLength(2);
  await decide("Issued", "bmV3");
  expect(await ask()).toEqual(shown("ED25519 2 ", "bmV3"));
});

test("a renewal that the API server refuses leaves the certificate, and is tried again", async () => {
  const { api, clock, ask, decide, requests } = world();
  await ask();
  await decide("Issued");
  await ask();
  await clock.advance(hourMs);
  const allow = api.intercept(({ method }) => {
    if (method === "POST") throw new ApiError(403, "Forbidden", "no more");
    return undefined;
  });
  expect(await ask()).toEqual(shown("ED25519 1 "));
  allow();
  await ask();
  expect(requests()).toHaveLength(2);
});

test("a certificate that is denied is not asked for again, and there is an event", async () => {
  const { ask, decide, events, requests } = world();
  await ask();
  await decide("Denied");
  const denied = {
    ok: false,
    error: 'PodCertificateRequest was permanently denied: reason="Why" message="so"',
  };
  expect(await ask()).toEqual(denied);
  expect(await ask()).toEqual(denied);
  expect(requests()).toHaveLength(1);
  const [name] = requests().map(({ metadata }) => metadata?.name);
  expect(events).toEqual([
    `Denied: PodCertificateRequest ns/${name} was denied, reason="Why", message="so"`,
  ]);
});

test("a volume says why there is no request yet", async () => {
  const { api, nodes, ask } = world();
  nodes.clear();
  expect(await ask()).toEqual({
    ok: false,
    error: 'cannot request a certificate: node "node-a" not found',
  });
  api.remove("/api/v1/namespaces/ns/serviceaccounts/robot");
  expect(await ask()).toMatchObject({
    error: expect.stringMatching(/^cannot request a certificate: .*"robot" not found/),
  });
});

test("requests that cannot be watched are not asked for again, and the volume says why", async () => {
  const { api, clock, ask, requests } = world();
  const refusal = new ApiError(403, "Forbidden", "no access to requests");
  api.watch = () => Promise.reject(refusal);
  api.intercept(({ method, path }) =>
    method === "GET" && path === collection ? Promise.reject(refusal) : undefined,
  );
  await ask();
  await clock.advance(hourMs);
  expect(await ask()).toEqual({
    ok: false,
    error:
      "credential bundle is not issued yet: cannot watch PodCertificateRequests: no access to requests",
  });
  expect(requests()).toHaveLength(1);
});

test("a pod that is gone leaves nothing, and an answer that comes late does not bring it back", async () => {
  const { table, certificates, ask, decide } = world();
  await ask();
  await decide("Issued");
  await ask();
  certificates.release(uid);
  expect(await ask()).toEqual(notYet);
  const late = ask(1);
  table.delete(uid);
  await late;
  expect(table.get(uid)).toBeUndefined();
});

test("certificates are counted by signer and by where they stand", async () => {
  const { certificates, ask, decide } = world();
  await ask(0);
  await decide("Issued");
  await ask(0);
  await ask(1);
  const metrics = new MetricsRegistry(metricDefinitions);
  certificates.collect(metrics);
  const text = metrics.text((name) => name === "kubelet_podcertificate_states");
  expect(text.split("\n").filter((line) => line.startsWith("kubelet"))).toEqual([
    'kubelet_podcertificate_states{signer_name="example.com/mesh",state="fresh"} 1',
    'kubelet_podcertificate_states{signer_name="example.com/mesh",state="not_yet_issued"} 1',
  ]);
});
