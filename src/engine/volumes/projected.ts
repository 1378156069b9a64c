import { podFsUser } from "../../core/volume/pod-fs-user.ts";
import {
  projectedPayload,
  projectedTokenRequests,
  projectedTrustBundles,
} from "../../core/volume/projected-payload.ts";
import { ok, type Result } from "../../lib/result.ts";
import { refusedFields } from "../../model/fields/refused-fields.ts";
import type { VolumeProjection } from "../../model/generated/kubernetes.ts";
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
    return projectedPayload(projected, {
      pod,
      configMap: (namespace, name) => deps.objects.configMap(namespace, name),
      secret: (namespace, name) => deps.objects.secret(namespace, name),
      allocatable: deps.allocatable,
      tokens,
      trustAnchors,
      fsGroup: pod.spec.securityContext?.fsGroup,
      fsUser: podFsUser(pod),
    });
  },
});

function refusedSource(
  { serviceAccountToken, clusterTrustBundle, podCertificate }: VolumeProjection,
  { tokens, trustBundles }: VolumePluginDeps,
): string | undefined {
  const noCluster = "needs a cluster, and this node has none";
  if (serviceAccountToken !== undefined && tokens === undefined) {
    return `serviceAccountToken: ${noCluster}`;
  }
  if (clusterTrustBundle !== undefined && trustBundles === undefined) {
    const noGate = "needs the feature gate ClusterTrustBundleProjection, which is off unless set";
    return `clusterTrustBundle: ${tokens === undefined ? noCluster : noGate}`;
  }
  if (podCertificate === undefined) return undefined;
  return `podCertificate: ${refusedFields.get("VolumeProjection.podCertificate")}`;
}
