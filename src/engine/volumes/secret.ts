import { secretPayload } from "../../core/volume/key-payload.ts";
import { optionalObject } from "../../core/volume/optional-object.ts";
import { payloadPlugin } from "./payload-volume.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

/** The keys of a secret as files in memory. */
export const secretPlugin: VolumePlugin = payloadPlugin({
  name: "kubernetes.io/secret",
  field: "secret",
  medium: "Memory",
  payload: async ({ objects }, { pod, volume }) => {
    const { secret: source = {} } = volume;
    const found = objects.secret(pod.metadata.namespace, source.secretName ?? "");
    const secret = optionalObject(found, source.optional);
    return secret.ok ? secretPayload(secret.value, source) : secret;
  },
});
