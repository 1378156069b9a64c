import { joinPath } from "../../../lib/path.ts";
import { ok } from "../../../lib/result.ts";
import { pluginDirectory } from "../../paths/data-paths.ts";
import { type VolumeSpec, volumeSpecName } from "../volume-spec.ts";
import { ownedVolume, plainTraits, podVolumePath, type VolumeKind } from "./volume-kind.ts";

/** A program on the node that mounts volumes, as it describes itself. */
export interface FlexDriver {
  /** vendor/name */
  readonly name: string;
  readonly attachable: boolean;
}

/** Each driver is a kind of its own, under its own name. */
export function flexKind({ name, attachable }: FlexDriver): VolumeKind {
  return {
    plugin: name,
    isOf: (spec) => flexSource(spec)?.driver === name,
    volumeName: (spec) => ok(volumeSpecName(spec)),
    traits: () => ({ ...plainTraits, attachable, deviceMountable: attachable }),
    podVolume(spec, place) {
      const readOnly =
        spec.source === "inline" ? flexSource(spec)?.readOnly === true : spec.readOnly;
      return ok(ownedVolume(podVolumePath(name, spec, place), readOnly, true));
    },
    foundByName: (volumeName) => ({
      source: "inline",
      volume: { name: volumeName, flexVolume: { driver: name } },
    }),
    ...(attachable
      ? {
          deviceMountPath: (spec, { root }) =>
            ok(joinPath(flexDirectory(root), name, "mounts", volumeSpecName(spec))),
        }
      : {}),
  };
}

function flexDirectory(root: string): string {
  return pluginDirectory(root, "kubernetes.io/flexvolume");
}

function flexSource(spec: VolumeSpec) {
  return spec.source === "inline" ? spec.volume.flexVolume : spec.persistentVolume.spec?.flexVolume;
}
