import type { ThresholdList } from "./parse-thresholds.ts";
import type { Signal } from "./signal.ts";
import { type FsLayout, isHardThreshold, type Threshold } from "./threshold.ts";

export interface ContainerFsThresholds {
  /** The configured ones in their places, then the derived ones that had none. */
  readonly thresholds: readonly Threshold[];
  /** What the first look goes by. */
  readonly firstLook: readonly Threshold[];
  /** A setting that is replaced: the container filesystem follows another one's thresholds. */
  readonly conflict?: string | undefined;
}

const none: Omit<Threshold, "signal"> = {
  operator: "",
  value: { kind: "percentage", percentage: 0 },
  gracePeriodMs: 0,
};

/** Gives the container filesystem the thresholds of the filesystem that it shares with images or with the node. */
export function withContainerFsThresholds(
  { thresholds, spare }: ThresholdList,
  { dedicatedImageFs, splitContainerFs }: FsLayout,
): ContainerFsThresholds {
  const conflict = conflictIn(thresholds);
  // The runtime cannot split what is on one filesystem.
  if (!dedicatedImageFs && splitContainerFs) return { thresholds, firstLook: thresholds, conflict };
  const model = dedicatedImageFs && !splitContainerFs ? "imagefs" : "nodefs";
  const result = [...thresholds];
  const firstLook = [...thresholds];
  for (const what of ["available", "inodesFree"] as const) {
    for (const isHard of [true, false]) {
      const signal: Signal = `containerfs.${what}`;
      const source = lastOf(thresholds, `${model}.${what}`, isHard) ?? none;
      const derived: Threshold = { ...source, signal };
      const place = thresholds.findLastIndex(matches(signal, isHard));
      if (place < 0) {
        result.push(derived);
        continue;
      }
      result[place] = derived;
      if (result.length <= thresholds.length + spare) firstLook[place] = derived;
    }
  }
  return { thresholds: result, firstLook, conflict };
}

function conflictIn(thresholds: readonly Threshold[]): string | undefined {
  const last = thresholds.findLast(({ signal }) => signal.startsWith("containerfs."));
  if (last === undefined) return undefined;
  return `found ${last.signal} for ${isHardThreshold(last) ? "hard" : "soft"} eviction. ignoring`;
}

function lastOf(
  thresholds: readonly Threshold[],
  signal: Signal,
  isHard: boolean,
): Threshold | undefined {
  return thresholds.findLast(matches(signal, isHard));
}

function matches(signal: Signal, isHard: boolean): (threshold: Threshold) => boolean {
  return (threshold) => threshold.signal === signal && isHardThreshold(threshold) === isHard;
}
