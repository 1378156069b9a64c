import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { SimForeignFiles } from "../../drivers/sim/sim-foreign-files.ts";
import { simDisk } from "../../drivers/sim/sim-host.ts";
import { SimMounts } from "../../drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../../drivers/sim/sim-payload-files.ts";
import { err, ok } from "../../lib/result.ts";
import type { PodSpec, VolumeProjection } from "../../model/generated/kubernetes.ts";
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

function deps(cluster: Pick<VolumePluginDeps, "tokens" | "trustBundles">): VolumePluginDeps {
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
    ...cluster,
  };
}

function volume(...sources: readonly VolumeProjection[]) {
  return { name: "all", projected: { defaultMode: 0o644, sources } };
}

async function show(sources: readonly VolumeProjection[], spec: Partial<PodSpec> = {}) {
  const pod = testPod({ containers: [{ name: "main" }], ...spec });
  const world = deps({ tokens, trustBundles: bundles });
  const { signal } = new AbortController();
  const payload = await projectedPlugin.payload?.(
    world,
    { pod, volume: volume(...sources) },
    signal,
  );
  if (payload?.ok !== true) return payload?.error;
  const shown = [...payload.value].map(([path, { data, mode, ownerUid }]) => [
    path,
    { text: new TextDecoder().decode(data), mode, ownerUid },
  ]);
  return Object.fromEntries(shown);
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
  expect(await show(sources)).toMatch(/^\[no such bundle, .*secret/);
});

test("without the feature gate or a cluster, a volume says which one it needs", () => {
  const asked = volume(token, trustBundle("a", "a.pem"));
  const refusal = (cluster: Pick<VolumePluginDeps, "tokens" | "trustBundles">) =>
    projectedPlugin.refusal?.(asked, deps(cluster));
  expect(refusal({ tokens, trustBundles: bundles })).toBeUndefined();
  expect(refusal({ tokens, trustBundles: undefined })).toBe(
    "sources[1].clusterTrustBundle: needs the feature gate ClusterTrustBundleProjection, which is off unless set",
  );
  const alone = volume(trustBundle("a", "a.pem"));
  expect(
    projectedPlugin.refusal?.(alone, deps({ tokens: undefined, trustBundles: undefined })),
  ).toBe("sources[0].clusterTrustBundle: needs a cluster, and this node has none");
});
