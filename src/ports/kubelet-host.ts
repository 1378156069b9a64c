import type { Result } from "../lib/result.ts";
import type { PodUid } from "../model/ids.ts";
import type { Pod } from "../model/pod.ts";

/** A pod of which the runtime has something that runs. */
export interface RunningPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: PodUid;
  readonly containers: readonly { readonly name: string; readonly image: string }[];
}

/** Why no checkpoint is written although the container runs. */
export interface CheckpointRefusal {
  readonly message: string;
  /** Undefined = a retry does not help until archives have been removed by hand. */
  readonly retryAfterSeconds?: number | undefined;
}

/** What the kubelet's API asks of the agent beyond what every server sees. */
export interface KubeletHost {
  listRunningPods(signal: AbortSignal): Promise<readonly RunningPod[]>;
  /** The runtime's streaming URL for connections to a pod's ports; only ever loopback. */
  portForwardUrl(pod: Pod, ports: readonly number[], signal: AbortSignal): Promise<URL>;
  /** Runs a command to its end; answers what it wrote, and rejects when it failed. */
  runInContainer(
    pod: Pod,
    container: string,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  /** Writes a checkpoint of a running container; answers its file. `timeoutSeconds` 0 = as long as other calls. */
  checkpoint(
    pod: Pod,
    container: string,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<Result<string, CheckpointRefusal>>;
  /** Why the sync loop does not seem to work any more. */
  syncLoopProblem(): string | undefined;
}

/** One page of metrics, in the text format of Prometheus. */
interface MetricsPage {
  text(signal: AbortSignal): Promise<string>;
}

/** The pages that a kubelet has, by their paths below /metrics. */
export interface MetricsPages {
  readonly own: MetricsPage;
  readonly cadvisor: MetricsPage;
  readonly resource: MetricsPage;
  readonly probes: MetricsPage;
  readonly slis: MetricsPage;
}
