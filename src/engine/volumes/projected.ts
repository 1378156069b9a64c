import { podFsUser } from "../../core/volume/pod-fs-user.ts";
import { projectedPayload, projectedTokenRequests } from "../../core/volume/projected-payload.ts";
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
    return projectedPayload(projected, {
      pod,
      configMap: (namespace, name) => deps.objects.configMap(namespace, name),
      secret: (namespace, name) => deps.objects.secret(namespace, name),
      allocatable: deps.allocatable,
      tokens,
      fsGroup: pod.spec.securityContext?.fsGroup,
      fsUser: podFsUser(pod),
    });
  },
});

function refusedSource(source: VolumeProjection, { tokens }: VolumePluginDeps): string | undefined {
  if (source.serviceAccountToken !== undefined && tokens === undefined) {
    return "serviceAccountToken: needs a cluster, and this node has none";
  }
  const kinds = ["clusterTrustBundle", "podCertificate"] as const;
  const refused = kinds.find((kind) => source[kind] !== undefined);
  if (refused === undefined) return undefined;
  return `${refused}: ${refusedFields.get(`VolumeProjection.${refused}`)}`;
}
