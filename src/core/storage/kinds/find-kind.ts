import { ok, type Result } from "../../../lib/result.ts";
import type { StorageError } from "../storage-error.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { type FlexDriver, flexKind } from "./flex-volume.ts";
import { imageKind, podKinds } from "./pod-kinds.ts";
import { csiKind, fcKind, hostPathKind, iscsiKind, localKind, nfsKind } from "./storage-kinds.ts";
import { failed, type VolumeKind } from "./volume-kind.ts";

const builtInKinds: readonly VolumeKind[] = [
  ...podKinds,
  imageKind,
  csiKind,
  fcKind,
  hostPathKind,
  iscsiKind,
  localKind,
  nfsKind,
];

/** The kind of a volume. One of several kinds is refused rather than guessed. */
export function findKindOf(
  spec: VolumeSpec,
  flexDrivers: readonly FlexDriver[],
): Result<VolumeKind, StorageError> {
  const found = allKinds(flexDrivers).filter((kind) => kind.isOf(spec));
  const [kind] = found;
  if (kind === undefined) return failed("no volume plugin matched");
  if (found.length === 1) return ok(kind);
  const plugins = found.map(({ plugin }) => plugin).toSorted();
  return failed(`multiple volume plugins matched: ${plugins.join(",")}`);
}

/** The kind by the name of its plugin, as folders have it. */
export function findKindByName(
  plugin: string,
  flexDrivers: readonly FlexDriver[],
): Result<VolumeKind, StorageError> {
  const kind = allKinds(flexDrivers).find((each) => each.plugin === plugin);
  return kind === undefined ? failed(`no volume plugin matched name: ${plugin}`) : ok(kind);
}

function allKinds(flexDrivers: readonly FlexDriver[]): readonly VolumeKind[] {
  return [...builtInKinds, ...flexDrivers.map(flexKind)];
}
