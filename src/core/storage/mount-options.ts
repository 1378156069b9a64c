import { compareText } from "../../lib/compare-text.ts";
import type { VolumeSpec } from "./volume-spec.ts";

const mountOptionsAnnotation = "volume.beta.kubernetes.io/mount-options";

/** The mount options that a persistent volume asks for, with others: sorted and each once when it asks for any. */
export function mountOptionsOf(
  spec: VolumeSpec,
  systemOptions: readonly string[] = [],
): readonly string[] {
  if (spec.source === "inline") return systemOptions;
  const { metadata, spec: volume } = spec.persistentVolume;
  const annotated = metadata?.annotations?.[mountOptionsAnnotation];
  if (annotated !== undefined) return joinMountOptions(annotated.split(","), systemOptions);
  const options = volume?.mountOptions ?? [];
  return options.length > 0 ? joinMountOptions(options, systemOptions) : systemOptions;
}

/** All of them, sorted, each once. */
export function joinMountOptions(
  userOptions: readonly string[],
  systemOptions: readonly string[],
): readonly string[] {
  const all = new Set([...userOptions.filter((option) => option !== ""), ...systemOptions]);
  return [...all].toSorted(compareText);
}
