import { refusedFields } from "../../model/fields/refused-fields.ts";
import type { Volume } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { configMapPlugin } from "./config-map.ts";
import { downwardApiPlugin } from "./downward-api.ts";
import { emptyDirPlugin } from "./empty-dir.ts";
import { hostPathPlugin } from "./host-path.ts";
import { imagePlugin } from "./image.ts";
import { projectedPlugin } from "./projected.ts";
import { secretPlugin } from "./secret.ts";
import type { VolumePlugin, VolumePluginDeps } from "./volume-plugin.ts";

/** Every type of volume that this node can set up. A new type is a file beside this one and a line here. */
export const volumePlugins: readonly VolumePlugin[] = [
  configMapPlugin,
  downwardApiPlugin,
  emptyDirPlugin,
  hostPathPlugin,
  imagePlugin,
  projectedPlugin,
  secretPlugin,
];

/** The plugin of a volume; undefined when this node has none for it. */
export function pluginOf(volume: Volume): VolumePlugin | undefined {
  return volumePlugins.find(({ field }) => volume[field] !== undefined);
}

/** Every volume that this node cannot set up, as "field: reason"; also of those that no container mounts. */
export function volumeRefusals(pod: Pod, deps: VolumePluginDeps): readonly string[] {
  return (pod.spec.volumes ?? []).flatMap((volume, index) => {
    const field = `spec.volumes[${index}]`;
    const plugin = pluginOf(volume);
    if (plugin === undefined) return [`${field}${unsupported(volume)}`];
    const refused = plugin.refusal?.(volume, deps);
    return refused === undefined ? [] : [`${field}.${plugin.field}.${refused}`];
  });
}

function unsupported(volume: Volume): string {
  const source = Object.entries(volume).find(
    ([name, value]) => name !== "name" && value !== undefined,
  );
  if (source === undefined) return ": has no source; name one, such as emptyDir: {}";
  const [name] = source;
  return `.${name}: ${refusedFields.get(`Volume.${name}`) ?? "not supported by this node"}`;
}
