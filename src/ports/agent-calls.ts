import type { Result } from "../lib/result.ts";
import type {
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
  TokenReviewStatus,
} from "../model/generated/kubernetes.ts";
import type { PodUid } from "../model/ids.ts";
import type { Pod } from "../model/pod.ts";
import type { AttachOptions, ExecOptions } from "./agent-view.ts";
import type { CheckpointRefusal, MetricsPages, RunningPod } from "./kubelet-host.ts";
import type { RecordedNotes } from "./recorded-notes.ts";

/** A pod by name; the UID says that it is still the same one. */
export interface PodReference {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
}

export interface LogReference {
  readonly pod: PodReference;
  readonly container: string;
  readonly previous: boolean;
}

export type ProfileKind = "profile" | "heap";

/**
 * All that the kubelet's API asks of the agent. The two run in threads of their own: arguments and answers are plain
 * data. What is large is bytes of text already, which are handed over without a copy.
 */
export interface AgentCalls {
  findPod(asked: Omit<PodReference, "uid">, signal: AbortSignal): Promise<Pod | undefined>;
  /** The desired pods with their statuses, as the JSON of a PodList. */
  listPods(asked: undefined, signal: AbortSignal): Promise<Uint8Array>;
  listRunningPods(asked: undefined, signal: AbortSignal): Promise<readonly RunningPod[]>;
  /** As /stats/summary shows it. */
  readSummary(
    asked: { readonly cpuAndMemoryOnly: boolean },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  readMetrics(
    asked: { readonly page: keyof MetricsPages },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  /** The file of a container's log; undefined when there is none (yet). */
  findLog(asked: LogReference, signal: AbortSignal): Promise<string | undefined>;
  /** Whether nothing will be written to that file any more. */
  isLogFinished(
    asked: LogReference & { readonly path: string },
    signal: AbortSignal,
  ): Promise<boolean>;
  /** The runtime's streaming URL; only ever loopback. */
  execUrl(
    asked: { readonly pod: PodReference; readonly options: ExecOptions },
    signal: AbortSignal,
  ): Promise<string>;
  attachUrl(
    asked: { readonly pod: PodReference; readonly options: AttachOptions },
    signal: AbortSignal,
  ): Promise<string>;
  portForwardUrl(
    asked: { readonly pod: PodReference; readonly ports: readonly number[] },
    signal: AbortSignal,
  ): Promise<string>;
  runInContainer(
    asked: {
      readonly pod: PodReference;
      readonly container: string;
      readonly command: readonly string[];
    },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  /** Writes a checkpoint of a running container; answers its file. */
  checkpoint(
    asked: {
      readonly pod: PodReference;
      readonly container: string;
      readonly timeoutSeconds: number;
    },
    signal: AbortSignal,
  ): Promise<Result<string, CheckpointRefusal>>;
  /** What is wrong, by the name of the check; a check that is missing found nothing. */
  readHealth(asked: undefined, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Who the API server says a token belongs to. */
  reviewToken(asked: { readonly token: string }, signal: AbortSignal): Promise<TokenReviewStatus>;
  /** Whether the API server allows it. */
  reviewAccess(
    asked: SubjectAccessReviewSpec,
    signal: AbortSignal,
  ): Promise<SubjectAccessReviewStatus>;
  /** A profile of the agent's thread, as JSON. */
  takeProfile(
    asked: { readonly kind: ProfileKind; readonly durationMs: number },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  setVerbosity(asked: { readonly level: number }, signal: AbortSignal): Promise<void>;
  /** Takes over what was counted and logged since the last call. */
  record(asked: RecordedNotes, signal: AbortSignal): Promise<void>;
}
