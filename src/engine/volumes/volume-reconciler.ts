import { operationPlugin } from "../../core/storage/operation-plugin.ts";
import { type OperationKey, PendingOperations } from "../../core/storage/pending-operations.ts";
import {
  awaitedText,
  planMount,
  planRelease,
  type VolumeStep,
} from "../../core/storage/plan-volumes.ts";
import { isBlockVolume, type VolumeSpec } from "../../core/storage/volume-spec.ts";
import type { NodeVolume, PodMount, WantedVolume } from "../../core/storage/volume-state.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import { adoptFound, isFoundElsewhere } from "./adopt-found.ts";
import type { Attachments } from "./attachments.ts";
import type { VolumeOperations } from "./volume-operations.ts";
import type { VolumeStates } from "./volume-states.ts";

export interface ReconcilerDeps {
  readonly states: VolumeStates;
  readonly operations: VolumeOperations;
  readonly attachments: Attachments;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Ends with the agent. */
  readonly lifetime: AbortSignal;
}

/** One thing that is done to a volume. */
interface Operation {
  readonly key: OperationKey;
  /** Upstream's name for it: of back-offs and metrics. */
  readonly name: string;
  readonly volume: { readonly spec: VolumeSpec; readonly plugin: string };
  /** The pod that something is mounted or unmounted for. */
  readonly uid?: PodUid | undefined;
  /** Of the event that reports a failure to the pod's owner. */
  readonly event?: { readonly wanted: WantedVolume; readonly reason: string } | undefined;
}

/**
 * Two operations that overlap, such as the unmount for one pod and the mount for the next, forget each other's back-off. A
 * kubelet looks every 100 ms; what fails at once must not be tried at every change that its failure is.
 */
const shortestPauseMs = 250;
/**
 * An expansion that changed nothing, for a pod that only reads or a claim that is not ready, is not a failure and has no
 * back-off. It is tried again as often as a kubelet looks.
 */
const unexpandedPauseMs = 100;

type Work = (signal: AbortSignal) => Promise<Result<void, string>>;

/**
 * Starts what brings volumes from how they are to how they are wanted: for one volume, and for one device, one operation at
 * a time, and after a failure not before its back-off is over.
 */
export class VolumeReconciler {
  readonly #deps: ReconcilerDeps;
  readonly #pending = new PendingOperations();
  #onChange: () => void = () => undefined;
  /** Before when an operation on a volume is not tried again: by volume, then by the operation and its pod. */
  readonly #pausedUntilMs = new Map<string, ReadonlyMap<string, number>>();
  /** When the first operation that was refused may be tried again, by the monotonic clock. */
  #retryAtMs = Number.POSITIVE_INFINITY;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
  }

  /** Called when an operation has ended, or something is gone. */
  set onChange(listener: () => void) {
    this.#onChange = listener;
  }

  /** Starts everything that can start now; returns when the next try is due, by the monotonic clock. */
  reconcile(mayUnmount: boolean): number {
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    const { states } = this.#deps;
    adoptFound(states, (volumeName) => this.#pending.isPending({ volumeName }));
    // First, so that a volume that goes from one pod to another is unmounted for the first before.
    for (const [uid, { mounts, wanted, asked, isResolved }] of states.pods()) {
      const mayFoundGo = mayUnmount && (asked === "unmount" || (asked === "mount" && isResolved));
      for (const [name, mount] of mounts) {
        // What this agent mounted and its pod no longer wants is known to be unwanted, whatever other sources may bring.
        const mayGo = mayFoundGo || !mount.isFound;
        // One with another SELinux context has to be mounted again.
        const isWanted = wanted.get(name)?.seLinuxLabel === mount.seLinuxLabel;
        if (mayGo && !isWanted) this.#unmount(uid, name, mount);
      }
    }
    for (const [uid, { wanted, asked }] of states.pods()) {
      if (asked === "mount") for (const volume of wanted.values()) this.#mount(uid, volume);
    }
    if (mayUnmount) {
      const needed = states.namesInNeed();
      for (const volume of states.volumes()) if (!needed.has(volume.name)) this.#release(volume);
    }
    return this.#retryAtMs;
  }

  /** What made operations on the volume fail may be over: the next try does not wait for the back-off. */
  forgetFailures(name: string): void {
    this.#pending.forget(name);
    this.#pausedUntilMs.delete(name);
  }

  /** What is done about a volume of a pod, or what it waits for; undefined when it is as wanted. */
  awaitedOf(uid: PodUid, wanted: WantedVolume): string | undefined {
    const step = this.#stepOf(uid, wanted);
    const key = { volumeName: wanted.volumeName, podUid: uid };
    return step === undefined ? undefined : awaitedText(step, this.#pending.lastError(key));
  }

  /** Why the last operation on a volume failed, for a pod or for its device; undefined = none did, or it is being tried. */
  lastError(volumeName: string, uid?: PodUid): string | undefined {
    return this.#pending.lastError(
      uid === undefined ? { volumeName } : { volumeName, podUid: uid },
    );
  }

  #stepOf(uid: PodUid, wanted: WantedVolume): VolumeStep | undefined {
    const { states, attachments } = this.#deps;
    const { volumeName: name } = wanted;
    const mount = states.pod(uid).mounts.get(name);
    return planMount(
      { wanted, mount, volume: states.volume(name) },
      {
        byController: attachments.byController,
        isReportedInUse: states.isReportedInUse(name),
        isReportedAttached: attachments.attached?.has(name) === true,
      },
    );
  }

  #mount(uid: PodUid, wanted: WantedVolume): void {
    const { operations, states } = this.#deps;
    const { volumeName } = wanted;
    const shared = { volumeName };
    if (this.#pending.isPending(shared) || isFoundElsewhere(states, volumeName)) return;
    const step = this.#stepOf(uid, wanted);
    const isBlock = isBlockVolume(wanted.spec);
    switch (step?.kind) {
      case "verify-attached":
        this.#start(
          { key: shared, name: "verify_controller_attached_volume", volume: wanted },
          (signal) => operations.verifyAttached(wanted, signal),
        );
        return;
      case "attach": {
        const event = { wanted, reason: "FailedAttachVolume" };
        this.#start({ key: shared, name: "volume_attach", volume: wanted, event }, async () =>
          operations.attach(wanted),
        );
        return;
      }
      case "mount": {
        const isShared = wanted.attachable || wanted.deviceMountable;
        const key = isShared ? shared : { volumeName, podUid: uid };
        const name = isBlock ? "map_volume" : "volume_mount";
        const event = { wanted, reason: isBlock ? "FailedMapVolume" : "FailedMount" };
        this.#start({ key, name, volume: wanted, uid, event }, (signal) =>
          this.#measureMount(uid, wanted, step.isRemount, signal),
        );
        return;
      }
      case "expand": {
        const event = { wanted, reason: "VolumeResizeFailed" };
        const operation = { key: shared, name: "volume_fs_resize", volume: wanted, event };
        this.#start(operation, async (signal) => {
          const done = await operations.expand(uid, wanted, step.fromSize, signal);
          const isLeft = done.ok && this.#stepOf(uid, wanted)?.kind === "expand";
          if (isLeft) this.#pause(operation, unexpandedPauseMs);
          return done;
        });
        return;
      }
      case "conflict":
        if (states.addError(uid, step.because)) this.#onChange();
        return;
      default:
    }
  }

  /** Also from when it was first wanted; raw devices are not measured so. */
  async #measureMount(
    uid: PodUid,
    wanted: WantedVolume,
    isRemount: boolean,
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const { operations, metrics, clock } = this.#deps;
    const done = await operations.mount(uid, wanted, isRemount, signal);
    if (done.ok && !isBlockVolume(wanted.spec)) {
      const seconds = (clock.monotonicMs() - wanted.wantedMs) / 1000;
      metrics.observe("volume_operation_total_seconds", seconds, {
        operation_name: "overall_volume_mount",
        plugin_name: operationPlugin(wanted.plugin, wanted.spec),
      });
    }
    return done;
  }

  #unmount(uid: PodUid, name: string, mount: PodMount): void {
    const { operations } = this.#deps;
    const key = { volumeName: name, podUid: uid };
    if (this.#pending.isPending(key)) return;
    const operation = isBlockVolume(mount.spec) ? "unmap_volume" : "volume_unmount";
    this.#start({ key, name: operation, volume: mount, uid }, (signal) =>
      operations.unmount({ uid, name, mount }, signal),
    );
  }

  #release(volume: NodeVolume): void {
    const { states, attachments, operations } = this.#deps;
    const { name } = volume;
    const key = { volumeName: name };
    if (this.#pending.isPending(key)) return;
    const step = planRelease(volume, attachments.byController);
    switch (step.kind) {
      case "unmount-device": {
        const operation = isBlockVolume(volume.spec) ? "unmap_device" : "unmount_device";
        this.#start({ key, name: operation, volume }, (signal) =>
          operations.unmountDevice(volume, signal),
        );
        return;
      }
      case "detach":
        this.#start({ key, name: "volume_detach", volume }, async () => operations.detach(volume));
        return;
      case "forget":
        states.removeVolume(name);
        this.forgetFailures(name);
        this.#onChange();
        return;
      default:
    }
  }

  #start(operation: Operation, work: Work): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const pausedUntilMs = this.#pausesOf(operation).get(attemptName(operation)) ?? nowMs;
    if (nowMs < pausedUntilMs) {
      this.#retryAtMs = Math.min(this.#retryAtMs, pausedUntilMs);
      return;
    }
    const started = this.#pending.start(operation.key, operation.name, nowMs);
    if (started.ok) {
      void this.#run(operation, work);
      return;
    }
    if (started.error.kind === "backoff") {
      this.#retryAtMs = Math.min(this.#retryAtMs, started.error.retryAfterMs);
    }
  }

  #pausesOf({ key }: Operation): ReadonlyMap<string, number> {
    return this.#pausedUntilMs.get(key.volumeName) ?? new Map();
  }

  #pause(operation: Operation, pauseMs: number): void {
    const untilMs = this.#deps.clock.monotonicMs() + pauseMs;
    const pauses = new Map([...this.#pausesOf(operation), [attemptName(operation), untilMs]]);
    this.#pausedUntilMs.set(operation.key.volumeName, pauses);
  }

  async #run(operation: Operation, work: Work): Promise<void> {
    const { key, name, volume, uid, event } = operation;
    const { clock, metrics, log, lifetime, events, states } = this.#deps;
    const startedMs = clock.monotonicMs();
    if (uid !== undefined) states.noteOperation(uid, 1);
    const failure = await failureOf(work, lifetime);
    if (lifetime.aborted) return;
    if (uid !== undefined) states.noteOperation(uid, -1);
    const endedMs = clock.monotonicMs();
    this.#pending.finish(key, failure, endedMs);
    const { spec, plugin } = volume;
    metrics.observe("storage_operation_duration_seconds", (endedMs - startedMs) / 1000, {
      migrated: String(spec.source === "persistentVolume" && spec.migrated === true),
      operation_name: name,
      status: failure === undefined ? "success" : "fail-unknown",
      volume_plugin: operationPlugin(plugin, spec),
    });
    if (failure !== undefined) {
      const { volumeName } = key;
      this.#pause(operation, shortestPauseMs);
      log.warn("an operation on a volume failed", { volume: volumeName, operation: name, failure });
      if (event !== undefined) {
        const { wanted, reason } = event;
        events.record(wanted.pod, { type: "Warning", reason, message: failure });
      }
    }
    this.#onChange();
  }
}

/** Of pods that share a volume, none waits for the pause of another. */
function attemptName({ key, name, event }: Operation): string {
  return `${name} ${key.podUid ?? event?.wanted.pod.metadata.uid ?? ""}`;
}

/** Undefined = it went well. */
async function failureOf(work: Work, signal: AbortSignal): Promise<string | undefined> {
  try {
    const done = await work(signal);
    return done.ok ? undefined : done.error;
  } catch (error) {
    return errorText(error);
  }
}
