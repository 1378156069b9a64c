import { err, ok, type Result } from "../../../lib/result.ts";
import type {
  CSIPersistentVolumeSource,
  GCEPersistentDiskVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import { type InTreeKind, standIn, withSpec } from "./in-tree-kind.ts";
import { driverTopology, labelledZones } from "./topology.ts";

const driver = "pd.csi.storage.gke.io";
const zoneKey = "topology.gke.io/zone";
/** The driver fills in what the volume does not say. */
const unspecified = "UNSPECIFIED";

export const gcePersistentDisk: InTreeKind = {
  translateVolume({ gcePersistentDisk: source }) {
    if (source === undefined) return undefined;
    const accessMode = source.readOnly === true ? "ReadOnlyMany" : "ReadWriteOnce";
    const csi = csiSource(source, `zones/${unspecified}`);
    return standIn(`${driver}-${source.pdName}`, csi, accessMode);
  },
  translatePersistentVolume(volume) {
    const source = volume.spec?.gcePersistentDisk;
    if (source === undefined) return undefined;
    const location = diskLocation(labelledZones(volume));
    if (!location.ok) return location;
    return withSpec(volume, {
      gcePersistentDisk: undefined,
      csi: csiSource(source, location.value),
      nodeAffinity: driverTopology(volume, zoneKey),
      accessModes: servedAccessModes(volume.spec?.accessModes),
    });
  },
};

function csiSource(
  { pdName, partition = 0, readOnly, fsType }: GCEPersistentDiskVolumeSource,
  location: string,
): CSIPersistentVolumeSource {
  return {
    driver,
    volumeHandle: `projects/${unspecified}/${location}/disks/${pdName}`,
    readOnly: readOnly === true ? true : undefined,
    fsType,
    volumeAttributes: { partition: partition === 0 ? "" : String(partition) },
  };
}

/** A disk in several zones belongs to their region. */
function diskLocation(zones: readonly string[]): Result<string, string> {
  const [zone = unspecified] = zones;
  if (zones.length < 2) return ok(`zones/${zone}`);
  const regions = new Set<string>();
  for (const each of zones) {
    const parts = each.split("-");
    if (parts.length !== 3) {
      return err(
        `failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${each}`,
      );
    }
    regions.add(parts.slice(0, 2).join("-"));
  }
  const [region = ""] = regions;
  if (regions.size === 1) return ok(`regions/${region}`);
  const shown = [...regions].toSorted().map((name) => `${name}:{}`);
  return err(
    `failed to get region from zones: multiple or no regions gotten from zones, got: map[${shown.join(" ")}]`,
  );
}

/** The driver does not know disks that many nodes write to: such volumes are used by one. */
function servedAccessModes(modes: readonly string[] | undefined): readonly string[] | undefined {
  if (modes === undefined) return undefined;
  const isReadOnly =
    modes.includes("ReadOnlyMany") &&
    !modes.includes("ReadWriteOnce") &&
    !modes.includes("ReadWriteMany");
  return [isReadOnly ? "ReadOnlyMany" : "ReadWriteOnce"];
}
