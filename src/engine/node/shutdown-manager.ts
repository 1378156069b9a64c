import { type AdmissionResult, admitted } from "../../core/admission/admission.ts";
import {
  longestShutdownMs,
  planShutdown,
  type ShutdownGroup,
  type ShutdownPeriod,
  shutdownGraceSeconds,
} from "../../core/shutdown/plan-shutdown.ts";
import {
  shutdownKill,
  shutdownProblem,
  shutdownRefusal,
} from "../../core/shutdown/shutdown-status.ts";
import { Backoff } from "../../lib/backoff.ts";
import { withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { durationText } from "../../lib/go-text.ts";
import { joinPath } from "../../lib/path.ts";
import { formatTimeNano, parseTime } from "../../lib/time.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { ShutdownLock, ShutdownService } from "../../ports/shutdown.ts";
import type { AgentPorts } from "../agent/agent-ports.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { StatusCheckpoints } from "../status/status-checkpoints.ts";

export interface ShutdownManagerDeps {
  readonly shutdownService: ShutdownService;
  readonly periods: readonly ShutdownPeriod[];
  readonly active: Pick<ActivePods, "list">;
  readonly workers: Pick<PodWorkers, "killPod">;
  readonly settling: Pick<Settling, "volumesUnmounted" | "statusesReported">;
  readonly wakeups: Pick<Wakeups, "updateNode">;
  readonly nodeEvents: NodeEvents;
  readonly files: HostFiles;
  readonly rootFolder: string;
  readonly ports: Pick<AgentPorts, "clock" | "log" | "metrics">;
}

const reconnectMs = 1000;
const pollLimits = { initialMs: 100, maxMs: 1_600 };
const maxPolls = 5;
/** What is left of a group's time, or this, goes to the last statuses. */
const lastReportMs = 5000;
const stateFile = "graceful_node_shutdown_state";
const stateFileMode = 0o644;

/**
 * Ends pods in order, the least important first, when the machine goes down. It holds a lock that keeps the machine up
 * until that is done, or until the machine itself has waited long enough.
 */
export class ShutdownManager {
  readonly #deps: ShutdownManagerDeps;
  #lock: ShutdownLock | undefined;
  #isShuttingDown = false;
  #ending: Promise<void> | undefined;

  constructor(deps: ShutdownManagerDeps) {
    this.#deps = deps;
  }

  /** Why the node is not ready; undefined while it stays up. */
  get problem(): string | undefined {
    return this.#isShuttingDown ? shutdownProblem : undefined;
  }

  admit(): AdmissionResult {
    return this.#isShuttingDown ? shutdownRefusal : admitted;
  }

  /** Watches until `signal` aborts; the lock goes with it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps.ports;
    await this.#showLastShutdown();
    let last = "";
    while (!signal.aborted) {
      try {
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) break;
        const problem = errorText(error);
        if (problem !== last) log.error("cannot watch for a shutdown of the machine", { problem });
        last = problem;
      }
      await clock.sleep(reconnectMs, signal).catch(() => undefined);
    }
    this.#release();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    await this.#ensureDelay(signal);
    await this.#takeLock();
    await this.#deps.shutdownService.watch((isShuttingDown) => {
      this.#ending = (this.#ending ?? Promise.resolve()).then(() =>
        this.#note(isShuttingDown, signal),
      );
      this.#announce(isShuttingDown);
    }, signal);
  }

  /** The machine must wait for as long as the pods may take. */
  async #ensureDelay(signal: AbortSignal): Promise<void> {
    const { shutdownService: service, periods } = this.#deps;
    const neededMs = longestShutdownMs(periods);
    let delayMs = await service.maxDelayMs();
    if (delayMs >= neededMs) return;
    await service.extendMaxDelay(neededMs);
    const backoff = new Backoff(pollLimits);
    for (let poll = 0; poll < maxPolls; poll++) {
      delayMs = await service.maxDelayMs();
      if (delayMs >= neededMs) return;
      await this.#deps.ports.clock.sleep(backoff.nextMs(), signal);
    }
    throw new Error(
      `node shutdown manager was timed out after ${maxPolls} attempts waiting for logind InhibitDelayMaxSec to update ` +
        `to ${durationText(neededMs)} (ShutdownGracePeriod), current value is ${durationText(delayMs)}`,
    );
  }

  async #takeLock(): Promise<void> {
    const lock = await this.#deps.shutdownService.lock();
    this.#release();
    this.#lock = lock;
  }

  #release(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  #announce(isShuttingDown: boolean): void {
    const { nodeEvents, wakeups } = this.#deps;
    const what = isShuttingDown ? "event" : "cancellation";
    this.#deps.ports.log.info("the machine shuts down", { isShuttingDown });
    nodeEvents.recordNode({
      type: "Normal",
      reason: "Shutdown",
      message: `Shutdown manager detected shutdown ${what}`,
    });
    this.#isShuttingDown = isShuttingDown;
    wakeups.updateNode();
  }

  async #note(isShuttingDown: boolean, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps.ports;
    try {
      if (isShuttingDown) await this.#endPods(signal);
      else await this.#takeLock();
    } catch (error) {
      log.error("cannot handle a shutdown of the machine", { problem: errorText(error) });
    }
  }

  async #endPods(signal: AbortSignal): Promise<void> {
    const { periods, active } = this.#deps;
    const { clock, log } = this.#deps.ports;
    const startedAtMs = clock.nowMs();
    try {
      await this.#keepTimes(startedAtMs, undefined);
      for (const group of planShutdown(periods, active.list())) await this.#endGroup(group, signal);
      await this.#report(signal);
    } finally {
      await this.#keepTimes(startedAtMs, clock.nowMs());
      this.#release();
      log.info("pods have ended, the machine may go down");
    }
  }

  /** Waits for all of a group, but no longer than it may take. */
  async #endGroup(group: ShutdownGroup, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps.ports;
    const { priority, graceSeconds, pods } = group;
    const over = new AbortController();
    const limited = AbortSignal.any([signal, over.signal]);
    const ended = Promise.all(pods.map((pod) => this.#endPod(pod, group, signal)))
      .then(() => this.#deps.settling.volumesUnmounted(pods, limited))
      .catch((error: unknown) => {
        if (!limited.aborted) log.warn("volumes stay mounted", { problem: errorText(error) });
      });
    const time = clock.sleep(graceSeconds * 1000, limited).then(
      () => log.warn("pods take too long to end", { priority, graceSeconds }),
      () => undefined,
    );
    await Promise.race([ended, time]);
    over.abort();
  }

  async #endPod(pod: Pod, group: ShutdownGroup, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps.ports;
    const graceSeconds = shutdownGraceSeconds(pod, group);
    const reason = shutdownKill(pod);
    try {
      await this.#deps.workers.killPod(pod, { evict: false, graceSeconds, reason }, signal);
    } catch (error) {
      log.warn("cannot end a pod", { pod: podKey(pod), problem: errorText(error) });
    }
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps.ports;
    const limit = { ms: lastReportMs, what: "the report of the last statuses" };
    try {
      await withDeadline(clock, limit, signal, (limited) =>
        this.#deps.settling.statusesReported(limited),
      );
    } catch (error) {
      log.warn("the last statuses of pods were not reported", { problem: errorText(error) });
    }
  }

  async #keepTimes(startedAtMs: number, endedAtMs: number | undefined): Promise<void> {
    const { files, rootFolder } = this.#deps;
    const { metrics, log } = this.#deps.ports;
    metrics.set("kubelet_graceful_shutdown_start_time_seconds", Math.trunc(startedAtMs / 1000));
    metrics.set("kubelet_graceful_shutdown_end_time_seconds", Math.trunc((endedAtMs ?? 0) / 1000));
    const text = JSON.stringify({
      startTime: formatTimeNano(startedAtMs),
      endTime: endedAtMs === undefined ? "0001-01-01T00:00:00Z" : formatTimeNano(endedAtMs),
    });
    try {
      await files.writeFile(joinPath(rootFolder, stateFile), text, stateFileMode);
    } catch (error) {
      log.warn("cannot keep the times of a shutdown", { problem: errorText(error) });
    }
  }

  async #showLastShutdown(): Promise<void> {
    const { files, rootFolder } = this.#deps;
    const { metrics } = this.#deps.ports;
    const text = await files.readText(joinPath(rootFolder, stateFile)).catch(() => undefined);
    const secondsOf = (name: string): number => {
      const time = new RegExp(`"${name}":"([^"]+)"`).exec(text ?? "")?.[1] ?? "";
      return Math.trunc((parseTime(time) ?? 0) / 1000);
    };
    const [started, ended] = [secondsOf("startTime"), secondsOf("endTime")];
    if (started > 0) metrics.set("kubelet_graceful_shutdown_start_time_seconds", started);
    if (ended > 0) metrics.set("kubelet_graceful_shutdown_end_time_seconds", ended);
  }
}

interface SettlingDeps {
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
      (table.get(metadata.uid)?.storage?.mounts.size ?? 0) > 0;
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
