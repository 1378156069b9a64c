import type { Volume } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { configMapPlugin } from "./config-map.ts";
import { downwardApiPlugin } from "./downward-api.ts";
import { emptyDirPlugin } from "./empty-dir.ts";
import { hostPathPlugin } from "./host-path.ts";
import { projectedPlugin } from "./projected.ts";
import { secretPlugin } from "./secret.ts";
import type { VolumePlugin, VolumePluginDeps } from "./volume-plugin.ts";

/** Every type of volume that this node can set up. A new type is a file beside this one and a line here. */
const plugins: readonly VolumePlugin[] = [
  configMapPlugin,
  downwardApiPlugin,
  emptyDirPlugin,
  hostPathPlugin,
  projectedPlugin,
  secretPlugin,
];

/** Why else one might have expected it to work. */
const advice: ReadonlyMap<string, string> = new Map([
  ["persistentVolumeClaim", "claims are bound by a cluster; use hostPath for data that stays"],
  ["ephemeral", "claims are bound by a cluster; use emptyDir for data that goes with the pod"],
  ["csi", "no CSI driver can register with this node"],
  [
    "image",
    "the runtime cannot mount images as volumes; use an init container that copies to an emptyDir",
  ],
  [
    "gitRepo",
    "it ran programs of the repository as root; use an init container that clones to an emptyDir",
  ],
  ["nfs", "mount it on the node and use hostPath"],
]);

/** The plugin of a volume; undefined when this node has none for it. */
export function pluginOf(volume: Volume): VolumePlugin | undefined {
  return plugins.find(({ field }) => volume[field] !== undefined);
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
  return `.${name}: not supported by this node; ${advice.get(name) ?? "use hostPath or emptyDir"}`;
}
