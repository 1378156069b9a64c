import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { StatusCheckpoints } from "../status/status-checkpoints.ts";

export interface SettlingDeps {
  readonly table: Pick<PodTable, "get">;
  readonly checkpoints: Pick<StatusCheckpoints, "flush">;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: Pick<ClusterParts, "hasReportedAll"> | undefined;
  readonly clock: Pick<Clock, "sleep">;
}

const pollMs = 100;

/** What the end of pods is followed by before the machine may go down. */
export class Settling {
  readonly #deps: SettlingDeps;

  constructor(deps: SettlingDeps) {
    this.#deps = deps;
  }

  /** Resolves when no volume of these pods is mounted any more. */
  async volumesUnmounted(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { table, clock } = this.#deps;
    const isMounted = ({ metadata }: Pod): boolean =>
      (table.get(metadata.uid)?.volumes?.state?.mounted.size ?? 0) > 0;
    while (pods.some(isMounted)) await clock.sleep(pollMs, signal);
  }

  /** Resolves when everybody to whom statuses are reported has the last ones. */
  async statusesReported(signal: AbortSignal): Promise<void> {
    const { checkpoints, cluster, clock } = this.#deps;
    await checkpoints.flush();
    const isReported = (): boolean => cluster?.hasReportedAll ?? true;
    while (!isReported()) await clock.sleep(pollMs, signal);
  }
}
