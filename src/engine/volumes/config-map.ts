import { configMapPayload } from "../../core/volume/key-payload.ts";
import { optionalObject } from "../../core/volume/optional-object.ts";
import { payloadPlugin } from "./payload-volume.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

/** The keys of a config map as files. */
export const configMapPlugin: VolumePlugin = payloadPlugin({
  name: "kubernetes.io/configmap",
  field: "configMap",
  medium: "",
  payload: async ({ objects }, { pod, volume }) => {
    const { configMap: source = {} } = volume;
    const found = objects.configMap(pod.metadata.namespace, source.name ?? "");
    const configMap = optionalObject(found, source.optional);
    return configMap.ok ? configMapPayload(configMap.value, source) : configMap;
  },
});
