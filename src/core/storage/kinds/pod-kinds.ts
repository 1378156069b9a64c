import { ok } from "../../../lib/result.ts";
import type { Volume } from "../../../model/generated/kubernetes.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { plainTraits, podVolumePath, type VolumeKind, type VolumeTraits } from "./volume-kind.ts";

interface PodKind {
  readonly plugin: string;
  readonly field: keyof Volume;
  /** What the volume is called; by default as in the pod. */
  readonly name?: (volume: Volume) => string;
  readonly readOnly: boolean;
  /** Its content follows objects or fields that may change. */
  readonly requiresRemount: boolean;
  /** One that was found on disk. */
  readonly found: (name: string) => Volume;
}

/** The kinds that exist in pods only, each a folder that the agent fills. */
export const podKinds: readonly VolumeKind[] = [
  podKind({
    plugin: "kubernetes.io/empty-dir",
    field: "emptyDir",
    readOnly: false,
    requiresRemount: false,
    found: (name) => ({ name, emptyDir: {} }),
  }),
  podKind({
    plugin: "kubernetes.io/configmap",
    field: "configMap",
    name: ({ name, configMap }) => `${name}/${configMap?.name ?? ""}`,
    readOnly: true,
    requiresRemount: true,
    found: (name) => ({ name, configMap: {} }),
  }),
  podKind({
    plugin: "kubernetes.io/secret",
    field: "secret",
    name: ({ secret }) => secret?.secretName ?? "",
    readOnly: true,
    requiresRemount: true,
    found: (name) => ({ name, secret: { secretName: name } }),
  }),
  podKind({
    plugin: "kubernetes.io/downward-api",
    field: "downwardAPI",
    readOnly: true,
    requiresRemount: true,
    found: (name) => ({ name, downwardAPI: {} }),
  }),
  podKind({
    plugin: "kubernetes.io/projected",
    field: "projected",
    readOnly: true,
    requiresRemount: true,
    found: (name) => ({ name, projected: {} }),
  }),
  podKind({
    plugin: "kubernetes.io/git-repo",
    field: "gitRepo",
    name: ({ gitRepo }) =>
      [gitRepo?.repository, gitRepo?.revision, gitRepo?.directory]
        .map((part) => part ?? "")
        .join(":"),
    readOnly: false,
    requiresRemount: false,
    found: (name) => ({ name, gitRepo: { repository: "" } }),
  }),
];

/** An image that the runtime mounts: the agent has no folder for it. */
export const imageKind: VolumeKind = {
  plugin: "kubernetes.io/image",
  isOf: (spec) => spec.source === "inline" && spec.volume.image !== undefined,
  volumeName: (spec) => ok((spec.source === "inline" ? spec.volume.image?.reference : "") ?? ""),
  traits: () => plainTraits,
  podVolume: () => ok({ path: "", readOnly: true, managed: false, seLinuxRelabel: false }),
};

function podKind({ plugin, field, name, readOnly, requiresRemount, found }: PodKind): VolumeKind {
  const traits: VolumeTraits = { ...plainTraits, requiresRemount };
  const nameOf = name ?? ((volume: Volume) => volume.name);
  return {
    plugin,
    isOf: (spec: VolumeSpec) => spec.source === "inline" && spec.volume[field] !== undefined,
    volumeName: (spec) => ok(spec.source === "inline" ? nameOf(spec.volume) : ""),
    traits: () => traits,
    podVolume: (spec, place) =>
      ok({
        path: podVolumePath(plugin, spec, place),
        readOnly,
        managed: true,
        seLinuxRelabel: true,
      }),
    foundByName: (volumeName) => ({ source: "inline", volume: found(volumeName) }),
  };
}
