import type { Container, PodSpec } from "../../../../src/model/generated/kubernetes.ts";
import type { Dice } from "../dice.ts";
import type { PodManifest } from "../random-pod.ts";
import { inlineDriver } from "./storage-objects.ts";

type Volume = NonNullable<PodSpec["volumes"]>[number];

/** The same pod with volumes of claims or drivers, in most cases. */
export function withStorage(dice: Dice, manifest: PodManifest, inCluster: boolean): PodManifest {
  if (dice.chance(0.25)) return manifest;
  const names = new Set(
    Array.from({ length: dice.pick([1, 1, 2]) }, () => dice.pick(claimNames(manifest, inCluster))),
  );
  const added = [...names].map((name, index) => randomVolume(dice, name, `storage-${index}`));
  const { spec } = manifest;
  const uses = (container: Container, isFirst: boolean): Container =>
    added.reduce(
      (each, volume) => (isFirst || dice.chance(0.3) ? withVolume(dice, each, volume) : each),
      container,
    );
  return {
    ...manifest,
    spec: {
      ...spec,
      volumes: [...(spec.volumes ?? []), ...added],
      initContainers: (spec.initContainers ?? []).map((each) => uses(each, false)),
      containers: spec.containers.map((each, index) => uses(each, index === 0)),
    },
  };
}

function claimNames({ metadata }: PodManifest, inCluster: boolean): readonly string[] {
  const everywhere = ["disk-1", "disk-2", "shared", "raw", "files", "folder", inlineDriver];
  // No other pod of a cluster has the name while this one is there.
  return [...everywhere, inCluster ? `once-${metadata.name}` : "plain"];
}

function randomVolume(dice: Dice, claimName: string, name: string): Volume {
  if (claimName === inlineDriver) return { name, csi: { driver: inlineDriver } };
  const readOnly = dice.chance(0.2);
  return { name, persistentVolumeClaim: { claimName, readOnly } };
}

function withVolume(dice: Dice, container: Container, volume: Volume): Container {
  const { name, persistentVolumeClaim } = volume;
  if (persistentVolumeClaim?.claimName === "raw") {
    const device = { name, devicePath: `/dev/${name}` };
    return { ...container, volumeDevices: [...(container.volumeDevices ?? []), device] };
  }
  const part = dice.chance(0.2) ? { subPath: "part" } : {};
  const mount = { name, mountPath: `/${name}`, ...part };
  return { ...container, volumeMounts: [...(container.volumeMounts ?? []), mount] };
}
