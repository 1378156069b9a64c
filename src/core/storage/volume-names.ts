import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import type { VolumeKind, VolumeTraits } from "./kinds/volume-kind.ts";
import type { StorageError } from "./storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "./volume-spec.ts";

/** The name by which the node's status, the controllers and operations know a volume that pods can share. */
export function sharedVolumeName(
  kind: Pick<VolumeKind, "plugin" | "volumeName">,
  spec: VolumeSpec,
): Result<string, StorageError> {
  const name = kind.volumeName(spec);
  if (name.ok && name.value !== "") return ok(`${kind.plugin}/${name.value}`);
  const reason = name.ok ? "<nil>" : name.error.message;
  const message = `failed to GetVolumeName from volumePlugin for volumeSpec ${quoteText(volumeSpecName(spec))} err=${reason}`;
  return err({ kind: "final", message });
}

/** The name of a volume that is one pod's alone. */
export function podVolumeName(plugin: string, podUid: PodUid, spec: VolumeSpec): string {
  return `${plugin}/${podUid}-${volumeSpecName(spec)}`;
}

/** The name under which the node knows a volume: its own where there is a device to share, else one with the pod's UID. */
export function uniqueVolumeName(
  { kind, traits }: { readonly kind: VolumeKind; readonly traits: VolumeTraits },
  spec: VolumeSpec,
  podUid: PodUid,
): Result<string, StorageError> {
  const isShared = traits.attachable || traits.deviceMountable;
  return isShared ? sharedVolumeName(kind, spec) : ok(podVolumeName(kind.plugin, podUid, spec));
}

/** The parts of such a name; a plugin's own name has one slash. @upstream */
export function splitVolumeName(
  uniqueName: string,
): Result<{ readonly plugin: string; readonly volume: string }, string> {
  const [vendor, kind, ...volume] = uniqueName.split("/");
  if (volume.length === 0) {
    return err(`cannot split volume unique name ${uniqueName} to plugin/volume components`);
  }
  return ok({ plugin: `${vendor}/${kind}`, volume: volume.join("/") });
}
