import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import type { StorageError } from "./storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "./volume-spec.ts";

/** The name by which the node's status, the controllers and operations know a volume that pods can share. */
export function sharedVolumeName(
  plugin: string,
  spec: VolumeSpec,
  volumeName: Result<string, StorageError>,
): Result<string, StorageError> {
  if (volumeName.ok && volumeName.value !== "") return ok(`${plugin}/${volumeName.value}`);
  const reason = volumeName.ok ? "<nil>" : volumeName.error.message;
  const message = `failed to GetVolumeName from volumePlugin for volumeSpec ${quoteText(volumeSpecName(spec))} err=${reason}`;
  return err({ kind: "final", message });
}

/** The name of a volume that is one pod's alone. */
export function podVolumeName(plugin: string, podUid: PodUid, spec: VolumeSpec): string {
  return `${plugin}/${podUid}-${volumeSpecName(spec)}`;
}

/** The parts of such a name; a plugin's own name has one slash. */
export function splitVolumeName(
  uniqueName: string,
): Result<{ readonly plugin: string; readonly volume: string }, string> {
  const [vendor, kind, ...volume] = uniqueName.split("/");
  if (volume.length === 0) {
    return err(`cannot split volume unique name ${uniqueName} to plugin/volume components`);
  }
  return ok({ plugin: `${vendor}/${kind}`, volume: volume.join("/") });
}
