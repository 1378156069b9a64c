import { csiDriverName } from "./csi/csi-volume.ts";
import type { VolumeSpec } from "./volume-spec.ts";

/** How metrics name the plugin of a volume: a CSI driver counts by itself. */
export function operationPlugin(plugin: string, spec: VolumeSpec): string {
  const driver = csiDriverName(spec);
  return driver === undefined ? plugin : `${plugin}:${driver}`;
}
