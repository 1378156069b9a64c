import type {
  ConfigMap,
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  RuntimeClass,
  Secret,
} from "../model/generated/kubernetes.ts";
import type { Pod } from "../model/pod.ts";
import type { PodSourceName } from "../model/pod-source.ts";

/** What is wrong with one manifest, placed as exactly as it is known. */
export interface SourceProblem {
  /** The file or URL. */
  readonly origin: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** The path of the offending field, such as spec.containers[0].image. */
  readonly field?: string | undefined;
  readonly message: string;
  /** Pods (namespace/name) that it is about, where they run all the same: as they were before, or from another file. */
  readonly pods?: readonly string[] | undefined;
}

/** All that a source wants at one moment. Each delivery replaces the one before. */
export interface SourceSnapshot {
  readonly pods: readonly Pod[];
  /** Objects that lie beside the pods; only the folder of `berth up` has any. */
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly runtimeClasses?: readonly RuntimeClass[];
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly persistentVolumes?: readonly PersistentVolume[];
  readonly csiDrivers?: readonly CSIDriver[];
  readonly problems: readonly SourceProblem[];
  /** Fields that do not exist in manifests that are used all the same. */
  readonly unknownFields?: readonly SourceProblem[];
  /** Files that are skipped because their names are not those of manifests. */
  readonly ignored: readonly string[];
}

/** Where a source's findings go. */
export interface SourceSink {
  readonly deliver: (snapshot: SourceSnapshot) => void;
  /** Before the first snapshot: why there is none yet. */
  readonly report: (problems: readonly SourceProblem[]) => void;
}

export interface PodSource {
  readonly name: PodSourceName;
  /** Delivers a first snapshot as soon as the source could be read, then one per change, until `signal` aborts. */
  run(sink: SourceSink, signal: AbortSignal): Promise<void>;
}
