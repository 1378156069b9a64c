import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { SimForeignFiles } from "../../drivers/sim/sim-foreign-files.ts";
import { simDisk } from "../../drivers/sim/sim-host.ts";
import { SimMounts } from "../../drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../../drivers/sim/sim-payload-files.ts";
import { err, ok } from "../../lib/result.ts";
import type {
  PodCertificateProjection,
  PodSpec,
  VolumeProjection,
} from "../../model/generated/kubernetes.ts";
import type { PodCertificates } from "../../ports/pod-certificates.ts";
import type { TrustBundles } from "../../ports/trust-bundles.ts";
import { LocalObjects } from "../intake/local-objects.ts";
import { projectedPlugin } from "./projected.ts";
import type { VolumePluginDeps } from "./volume-plugin.ts";

const bundles: TrustBundles = {
  anchors: async ({ name = "" }) =>
    name === "gone" ? err("no such bundle") : ok(`pem of ${name}`),
};
const tokens: VolumePluginDeps["tokens"] = {
  request: async () => ok({ token: "token", expiresAtMs: 0 }),
};

const certificates: PodCertificates = {
  credentials: async ({ volumeName, sourceIndex, projection }) =>
    projection.signerName === "example.com/slow"
      ? err("not issued")
      : ok({ keyPem: `key of ${volumeName}/${sourceIndex} `, chainPem: projection.signerName }),
};

type Cluster = Pick<VolumePluginDeps, "tokens" | "trustBundles" | "podCertificates">;

const cluster: Cluster = { tokens, trustBundles: bundles, podCertificates: certificates };

function deps(given: Cluster): VolumePluginDeps {
  const files = new MemoryFiles();
  const mounts = new SimMounts();
  const payloadFiles = new SimPayloadFiles();
  const foreignFiles = new SimForeignFiles({
    payloads: payloadFiles,
    mounts,
    readEnd: () => Promise.resolve(undefined),
    removeTree: (path) => files.removeTree(path),
    disk: () => simDisk(0),
  });
  const objects = new LocalObjects();
  const rootFolder = "/root";
  return {
    rootFolder,
    files,
    payloadFiles,
    foreignFiles,
    mounts,
    objects,
    allocatable: {},
    ...given,
  };
}

function volume(...sources: readonly VolumeProjection[]) {
  return { name: "all", projected: { defaultMode: 0o644, sources } };
}

async function payloadOf(sources: readonly VolumeProjection[], spec: Partial<PodSpec>) {
  const pod = testPod({ containers: [{ name: "main" }], ...spec });
  const { signal } = new AbortController();
  const target = { pod, volume: volume(...sources) };
  return (await projectedPlugin.payload?.(deps(cluster), target, signal)) ?? err("no payload");
}

/** The files of a volume. */
async function show(sources: readonly VolumeProjection[], spec: Partial<PodSpec> = {}) {
  const payload = await payloadOf(sources, spec);
  const files = payload.ok ? [...payload.value] : [];
  const shown = files.map(
    ([path, { data, mode, ownerUid }]) =>
      [path, { text: new TextDecoder().decode(data), mode, ownerUid }] as const,
  );
  return Object.fromEntries(shown);
}

async function failure(sources: readonly VolumeProjection[]): Promise<string> {
  const payload = await payloadOf(sources, {});
  return payload.ok ? "" : payload.error;
}

const token: VolumeProjection = { serviceAccountToken: { path: "token" } };

function trustBundle(name: string, path: string): VolumeProjection {
  return { clusterTrustBundle: { name, path } };
}

test("each trust bundle is at the path of its source, beside the files of others", async () => {
  const sources = [trustBundle("a", "a.pem"), token, trustBundle("b", "tls/b.pem")];
  expect(await show(sources)).toEqual({
    "a.pem": { text: "pem of a", mode: 0o644, ownerUid: undefined },
    token: { text: "token", mode: 0o644, ownerUid: undefined },
    "tls/b.pem": { text: "pem of b", mode: 0o644, ownerUid: undefined },
  });
});

test("a trust bundle is for the pod's group only where it has one, as tokens are", async () => {
  expect(await show([trustBundle("a", "a.pem")], { securityContext: { fsGroup: 7 } })).toEqual({
    "a.pem": { text: "pem of a", mode: 0o600, ownerUid: undefined },
  });
});

test("every source that cannot be had is named", async () => {
  const sources = [trustBundle("gone", "a.pem"), { secret: { name: "s" } }];
  expect(await failure(sources)).toMatch(/^\[no such bundle, .*secret/);
});

function certificate(paths: Partial<PodCertificateProjection>): VolumeProjection {
  return { podCertificate: { signerName: "example.com/mesh", keyType: "ED25519", ...paths } };
}

test("a certificate is shown in as many files as its source names, by the place of the source", async () => {
  const sources = [
    token,
    certificate({ credentialBundlePath: "all.pem" }),
    certificate({ keyPath: "key.pem", certificateChainPath: "chain.pem" }),
  ];
  const texts = Object.entries(await show(sources)).map(([path, { text }]) => [path, text]);
  expect(Object.fromEntries(texts)).toEqual({
    token: "token",
    "all.pem": "key of all/1 example.com/mesh",
    "key.pem": "key of all/2 ",
    "chain.pem": "example.com/mesh",
  });
});

test("a volume waits for its certificate", async () => {
  const slow = certificate({ keyPath: "key.pem", signerName: "example.com/slow" });
  expect(await failure([token, slow])).toBe("not issued");
});

test("without the feature gate or a cluster, a volume says which one it needs", () => {
  const asked = volume(token, trustBundle("a", "a.pem"), certificate({ keyPath: "key.pem" }));
  const refusal = (given: Cluster) => projectedPlugin.refusal?.(asked, deps(given));
  expect(refusal(cluster)).toBeUndefined();
  expect(refusal({ ...cluster, trustBundles: undefined })).toBe(
    "sources[1].clusterTrustBundle: needs the feature gate ClusterTrustBundleProjection, which is off unless set",
  );
  expect(refusal({ ...cluster, podCertificates: undefined })).toBe(
    "sources[2].podCertificate: needs the feature gate PodCertificateRequest, which is off unless set",
  );
  const none = { tokens: undefined, trustBundles: undefined, podCertificates: undefined };
  const alone = volume(trustBundle("a", "a.pem"));
  expect(projectedPlugin.refusal?.(alone, deps(none))).toBe(
    "sources[0].clusterTrustBundle: needs a cluster, and this node has none",
  );
});
