import { podFsUser } from "../../core/volume/pod-fs-user.ts";
import {
  projectedCertificates,
  projectedPayload,
  projectedTokenRequests,
  projectedTrustBundles,
} from "../../core/volume/projected-payload.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { VolumeProjection } from "../../model/generated/kubernetes.ts";
import type { PodCredentials } from "../../model/pod-certificate.ts";
import { payloadPlugin } from "./payload-volume.ts";
import type { VolumePlugin, VolumePluginDeps } from "./volume-plugin.ts";

/** Files of several sources in one folder. */
export const projectedPlugin: VolumePlugin = payloadPlugin({
  name: "kubernetes.io/projected",
  field: "projected",
  medium: "Memory",

  refusal: ({ projected: { sources = [] } = {} }, deps) => {
    for (const [index, source] of sources.entries()) {
      const refused = refusedSource(source, deps);
      if (refused !== undefined) return `sources[${index}].${refused}`;
    }
    return undefined;
  },

  payload: async (deps, { pod, volume }, signal) => {
    const { projected = {} } = volume;
    const tokens: Result<string, string>[] = [];
    for (const request of projectedTokenRequests(projected, pod)) {
      if (deps.tokens === undefined) continue;
      const issued = await deps.tokens.request(request, signal);
      tokens.push(issued.ok ? ok(issued.value.token) : issued);
    }
    const trustAnchors: Result<string, string>[] = [];
    for (const projection of projectedTrustBundles(projected)) {
      if (deps.trustBundles === undefined) continue;
      trustAnchors.push(await deps.trustBundles.anchors(projection, signal));
    }
    const certificates: Result<PodCredentials, string>[] = [];
    for (const [sourceIndex, projection] of projectedCertificates(projected)) {
      if (deps.podCertificates === undefined) continue;
      const wanted = { pod, volumeName: volume.name, sourceIndex, projection };
      certificates.push(await deps.podCertificates.credentials(wanted, signal));
    }
    return projectedPayload(projected, {
      pod,
      configMap: (namespace, name) => deps.objects.configMap(namespace, name),
      secret: (namespace, name) => deps.objects.secret(namespace, name),
      allocatable: deps.allocatable,
      tokens,
      trustAnchors,
      certificates,
      fsGroup: pod.spec.securityContext?.fsGroup,
      fsUser: podFsUser(pod),
    });
  },
});

function refusedSource(
  source: VolumeProjection,
  { tokens, trustBundles, podCertificates }: VolumePluginDeps,
): string | undefined {
  const needs = {
    serviceAccountToken: { from: tokens, gate: undefined },
    clusterTrustBundle: { from: trustBundles, gate: "ClusterTrustBundleProjection" },
    podCertificate: { from: podCertificates, gate: "PodCertificateRequest" },
  } as const;
  for (const kind of ["serviceAccountToken", "clusterTrustBundle", "podCertificate"] as const) {
    const { from, gate } = needs[kind];
    if (source[kind] === undefined || from !== undefined) continue;
    return tokens === undefined
      ? `${kind}: needs a cluster, and this node has none`
      : `${kind}: needs the feature gate ${gate}, which is off unless set`;
  }
  return undefined;
}
