import type { MountedVolume } from "../../core/mount/container-mounts.ts";
import { csiDriverName } from "../../core/storage/csi/csi-volume.ts";
import { extraGroups } from "../../core/storage/extra-groups.ts";
import { operationPlugin } from "../../core/storage/operation-plugin.ts";
import {
  attachLimitText,
  type MissingVolumes,
  missingVolumesText,
} from "../../core/storage/volume-messages.ts";
import { volumeSpecName } from "../../core/storage/volume-spec.ts";
import type { PodMount, WantedVolume } from "../../core/storage/volume-state.ts";
import { usedVolumes } from "../../core/volume/used-volumes.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { CsiAllocatable } from "../plugins/csi-allocatable.ts";
import { countPlugins, type VolumeCounts } from "./volume-metrics.ts";
import type { VolumeReconciler } from "./volume-reconciler.ts";
import { VolumeResolver, type VolumeResolverDeps } from "./volume-resolver.ts";

export interface StorageManagerDeps extends VolumeResolverDeps {
  readonly reconciler: VolumeReconciler;
  /** Undefined without a cluster. */
  readonly allocatable: Pick<CsiAllocatable, "verifyExhausted"> | undefined;
  readonly wakeups: Pick<Wakeups, "updateNode">;
}

/** Why a pod's volumes are not there. */
export interface MountProblem {
  readonly message: string;
  /** The node can attach no more volumes: the pod has to go elsewhere. */
  readonly isAttachLimitExceeded: boolean;
  /** Nothing failed: the time was over. */
  readonly isLate: boolean;
}

/** How long a pod waits for its volumes before the reason is reported, and the pod tries again. */
const waitMs = 123_000;
/** How long after an error the claims of a pod are read again whose volumes are not waited for yet. */
const resolveAgainMs = 1_000;
/** Errors are reported with what else is missing then: the other volumes get this long to be mounted. */
const collectMs = 300;
const deadlineExceeded = "context deadline exceeded";
const canceled = "context canceled";

/** Brings volumes in line with the pods that want them, and lets pods wait for theirs. */
export class StorageManager {
  readonly #deps: StorageManagerDeps;
  readonly #resolver: VolumeResolver;
  readonly #resolveWakeUp: WakeUp;
  readonly #reconcileWakeUp: WakeUp;
  readonly #waiting = new Set<WakeUp>();
  #hasReconciled = false;
  /** What the node's status was last asked to report. */
  #inUse: string | undefined;
  /** Those of it that pods waited for then. */
  #unreported: readonly string[] = [];

  constructor(deps: StorageManagerDeps) {
    this.#deps = deps;
    this.#resolver = new VolumeResolver(deps);
    this.#resolveWakeUp = new WakeUp(deps.clock);
    this.#reconcileWakeUp = new WakeUp(deps.clock);
    deps.reconciler.onChange = () => {
      this.#noteChange();
      this.#resolveWakeUp.notify();
    };
  }

  /** What is mounted is known, and so is what the node's status has to report as in use. */
  get isSynced(): boolean {
    return this.#hasReconciled && this.#deps.found.areKnown;
  }

  /** Brings volumes in line until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#deps.found.find(signal);
    while (!signal.aborted) {
      const retryAtMs = this.reconcile(signal);
      // One that failed is refused up to and including the end of its back-off.
      const delayMs = Math.max(0, retryAtMs - this.#deps.clock.monotonicMs() + 1);
      await this.#reconcileWakeUp.wait(delayMs, signal);
    }
  }

  /** Finds out what pods want until `signal` aborts. No pod waits for what another one refers to. */
  async runResolve(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const resolving of this.#resolver.start(signal)) void this.#noteResolved(resolving);
      this.#resolver.dropUnwanted();
      this.#noteChange();
      const delayMs = this.#resolver.isComplete ? Number.POSITIVE_INFINITY : resolveAgainMs;
      await this.#resolveWakeUp.wait(delayMs, signal);
    }
  }

  async #noteResolved(resolving: Promise<boolean>): Promise<void> {
    if (await resolving) this.#resolveWakeUp.notify();
    this.#noteChange();
  }

  /** Something has changed: pods or their lives, sources, claims, CSI drivers, or what the node's object says about volumes. */
  requestLook(): void {
    this.#resolveWakeUp.notify();
    this.#noteChange();
  }

  /** An object that the pod refers to has come or changed: its volumes are looked up and tried again at once. */
  retryPod(uid: PodUid): void {
    const { states } = this.#deps;
    const { asked, wanted } = states.pod(uid);
    if (asked === "mount") {
      states.setPod(uid, { resolution: "due" });
      this.#resolveWakeUp.notify();
    }
    this.#retry(wanted.keys());
  }

  /** The same for all pods: objects that lie beside them in the sources have changed. */
  retryPods(): void {
    for (const [uid] of this.#deps.states.pods()) this.retryPod(uid);
  }

  /** The driver has been registered: so are the volumes that failed without it. */
  retryDriver(driver: string): void {
    const { states } = this.#deps;
    const isOf = ({ spec }: Pick<PodMount, "spec">): boolean => csiDriverName(spec) === driver;
    const present = states.volumes().flatMap((volume) => (isOf(volume) ? [volume.name] : []));
    this.#retry(present);
  }

  #retry(names: Iterable<string>): void {
    for (const name of names) this.#deps.reconciler.forgetFailures(name);
    this.#reconcileWakeUp.notify();
  }

  /** What the node's status is to report; undefined until everything on disk is known. */
  volumesInUse(): readonly string[] | undefined {
    const { states, found } = this.#deps;
    if (!this.isSynced) return undefined;
    return [...new Set([...states.volumesInUse(), ...found.keptInUse])].toSorted();
  }

  /** A pod waits until the API server has its volume as in use, which it may have had for another pod before. */
  get isReportAwaited(): boolean {
    return this.isSynced && this.#deps.states.unreported().length > 0;
  }

  /** The API server has these as in use. */
  noteReportedInUse(names: readonly string[]): void {
    this.#deps.states.noteReportedInUse(names);
  }

  /** The pod's volumes are mounted once this has resolved; an error says which are not, and why. */
  async mount(pod: Pod, signal: AbortSignal): Promise<Result<void, MountProblem>> {
    const { states } = this.#deps;
    const expected = namesOf(pod);
    if (expected.length === 0) return ok(undefined);
    const { uid } = pod.metadata;
    // A life that begins: until it is resolved nothing says that it does without what was found.
    if (states.pod(uid).resolution === "new") states.setPod(uid, { isResolved: false });
    states.setPod(uid, { resolution: "due", asked: "mount" });
    this.#resolveWakeUp.notify();
    const isMounted = (): boolean => {
      const { unmounted } = this.#missing(uid, expected);
      const awaited = unmounted.length === 0 ? undefined : this.awaited(uid);
      if (states.pod(uid).awaited !== awaited) states.setPod(uid, { awaited });
      return unmounted.length === 0;
    };
    const cause = await this.#until(uid, isMounted, signal);
    if (cause === undefined) return ok(undefined);
    const missing = this.#missing(uid, expected);
    if (missing.unmounted.length === 0) return ok(undefined);
    const isAttachLimitExceeded = await this.#isExhausted(uid, signal);
    const text = isAttachLimitExceeded ? attachLimitText : missingVolumesText;
    const isLate = cause === deadlineExceeded || cause === canceled;
    return err({ message: text(missing, cause), isAttachLimitExceeded, isLate });
  }

  /** Nothing is mounted for the pod once this has resolved. Its containers must have ended: until then its volumes stay. */
  async unmount(uid: PodUid, signal: AbortSignal): Promise<Result<void, string>> {
    const mounted = (): readonly string[] =>
      [...this.#deps.states.pod(uid).mounts].flatMap(([name, { state }]) =>
        state === "mounted" ? [name] : [],
      );
    const cause = await this.#untilUnmounted(uid, () => mounted().length === 0, signal);
    const left = mounted();
    if (cause === undefined || left.length === 0) return ok(undefined);
    return err(`mounted volumes=[${left.toSorted().join(" ")}]: ${cause}`);
  }

  /**
   * The same, also of what only may be mounted. Not of what is being prepared for all pods: a driver that hangs there has given
   * this pod nothing, and keeps its folder only.
   */
  async release(uid: PodUid, signal: AbortSignal): Promise<Result<void, string>> {
    const { states, found } = this.#deps;
    const isDone = (): boolean => states.pod(uid).mounts.size === 0 && !found.mayHave(uid);
    const cause = await this.#untilUnmounted(uid, isDone, signal);
    if (cause === undefined) return ok(undefined);
    const left = [...states.pod(uid).mounts.keys()].toSorted();
    return err(`volumes that are or may be mounted=[${left.join(" ")}]: ${cause}`);
  }

  /** Neither is anything about to be mounted: once this has resolved the pod's folder may go. */
  async remove(uid: PodUid, signal: AbortSignal): Promise<Result<void, string>> {
    const { states, found } = this.#deps;
    const isDone = (): boolean => !this.hasMounts(uid) && !found.mayHave(uid);
    const cause = await this.#untilUnmounted(uid, isDone, signal);
    if (cause === undefined) return ok(undefined);
    const left = [...states.pod(uid).mounts.keys()].toSorted();
    return err(`volumes that are or may be mounted=[${left.join(" ")}]: ${cause}`);
  }

  async #untilUnmounted(
    uid: PodUid,
    isDone: () => boolean,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { states, found } = this.#deps;
    const mayBeMounted = this.hasMounts(uid) || found.mayHave(uid);
    // Most pods that are removed have nothing mounted any more, and some never had.
    if (!mayBeMounted && states.pod(uid).wanted.size === 0) return undefined;
    states.setPod(uid, { resolution: "due", asked: "unmount" });
    this.#resolveWakeUp.notify();
    return await this.#until(uid, isDone, signal);
  }

  /** What is mounted for a pod, by the names of its spec. */
  mountedVolumes(uid: PodUid): ReadonlyMap<string, MountedVolume> {
    const { wanted, mounts } = this.#deps.states.pod(uid);
    const mounted = new Map<string, MountedVolume>();
    for (const [name, { outerVolumeSpecNames }] of wanted) {
      const mount = mounts.get(name);
      if (mount?.state !== "mounted" || mount.volume === undefined) continue;
      for (const outer of outerVolumeSpecNames) mounted.set(outer, mount.volume);
    }
    return mounted;
  }

  /** What the disk calls a volume of the pod: the name of the persistent volume behind its claim, or its own. */
  specNameOf(uid: PodUid, outerName: string): string {
    for (const { outerVolumeSpecNames, spec } of this.#deps.states.pod(uid).wanted.values()) {
      if (outerVolumeSpecNames.includes(outerName)) return volumeSpecName(spec);
    }
    return outerName;
  }

  /** Whether anything may be mounted for the pod, or is about to be: its folder has to stay. */
  hasMounts(uid: PodUid): boolean {
    return this.#deps.states.hasMounts(uid);
  }

  /** What the pod's volumes wait for or what is done about them, by the names of its spec; none when all are mounted. */
  awaited(uid: PodUid): ReadonlyMap<string, string> {
    const { states, reconciler, table } = this.#deps;
    const { wanted, asked, problems } = states.pod(uid);
    const awaited = new Map<string, string>();
    const pod = table.get(uid)?.wanted;
    if (pod !== undefined && asked === "mount") {
      const { unresolved } = this.#missing(uid, namesOf(pod));
      const reason = problems.length > 0 ? problems.join("; ") : "what it refers to is being read";
      for (const name of unresolved) awaited.set(name, reason);
    }
    for (const volume of wanted.values()) {
      const text = reconciler.awaitedOf(uid, volume);
      if (text === undefined) continue;
      for (const outer of volume.outerVolumeSpecNames) awaited.set(outer, text);
    }
    return awaited;
  }

  countByPlugin(): VolumeCounts {
    const pods = [...this.#deps.states.pods()].map(([, pod]) => pod);
    const named = ({ plugin, spec }: Pick<PodMount, "plugin" | "spec">): string =>
      operationPlugin(plugin, spec);
    const mounts = pods.flatMap(({ mounts: all }) => [...all.values()]);
    const mounted = mounts.filter(({ state }) => state === "mounted");
    return {
      desired_state_of_world: countPlugins(
        pods.flatMap(({ wanted }) => [...wanted.values()].map(named)),
      ),
      actual_state_of_world: countPlugins(mounted.map(named)),
    };
  }

  /** The groups that the pod's processes get for the sake of its volumes, beside those of its spec. */
  supplementalGroups(pod: Pod): readonly number[] {
    const mounts = [...this.#deps.states.pod(pod.metadata.uid).mounts.values()];
    const groups = mounts.flatMap(({ state, groupId }) => (state === "mounted" ? [groupId] : []));
    return extraGroups(pod, groups);
  }

  /** Finds out what pods want, and drops what they no longer want. */
  async resolve(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#resolver.start(signal));
    this.#resolver.dropUnwanted();
    this.#noteChange();
  }

  /** Starts what can be started; returns when the next try is due, by the monotonic clock. */
  reconcile(signal: AbortSignal): number {
    const { reconciler, found } = this.#deps;
    const mayUnmount = this.#resolver.areAllResolved && found.areKnown;
    const retryAtMs = reconciler.reconcile(mayUnmount);
    if (mayUnmount) void this.#cleanUp(signal);
    const wasSynced = this.isSynced;
    found.settle();
    this.#hasReconciled = true;
    if (!wasSynced && this.isSynced) this.#noteChange();
    return retryAtMs;
  }

  async #cleanUp(signal: AbortSignal): Promise<void> {
    if (await this.#deps.found.cleanUp(signal)) this.requestLook();
  }

  #takeErrors(uid: PodUid): string | undefined {
    const { states } = this.#deps;
    const { errors } = states.pod(uid);
    if (errors.length === 0) return undefined;
    states.setPod(uid, { errors: [] });
    return errors.toSorted().join("; ");
  }

  #missing(uid: PodUid, expected: readonly string[]): MissingVolumes {
    const { wanted, mounts } = this.#deps.states.pod(uid);
    const resolved = new Set<string>();
    const mounted = new Set<string>();
    for (const [name, { outerVolumeSpecNames: outer }] of wanted) {
      for (const each of outer) {
        resolved.add(each);
        if (mounts.get(name)?.state === "mounted") mounted.add(each);
      }
    }
    return {
      unmounted: expected.filter((name) => !mounted.has(name)).toSorted(),
      unattached: this.#unattached(uid)
        .flatMap(({ outerVolumeSpecNames: names }) => names)
        .toSorted(),
      unresolved: expected.filter((name) => !resolved.has(name)).toSorted(),
    };
  }

  #unattached(uid: PodUid): readonly WantedVolume[] {
    const { states } = this.#deps;
    return [...states.pod(uid).wanted.values()].filter(
      ({ attachable, volumeName }) => attachable && states.volume(volumeName) === undefined,
    );
  }

  async #isExhausted(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { allocatable } = this.#deps;
    if (allocatable === undefined || signal.aborted) return false;
    for (const { spec } of this.#unattached(uid)) {
      if (spec.source !== "persistentVolume") continue;
      if (await allocatable.verifyExhausted(spec.persistentVolume, signal)) return true;
    }
    return false;
  }

  /** Looks whenever something has changed; resolves to the reason why the wait ended, undefined when it succeeded. */
  async #until(
    uid: PodUid,
    isDone: () => boolean,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    const endMs = startMs + waitMs;
    const wakeUp = new WakeUp(clock);
    let errorsAtMs: number | undefined;
    this.#waiting.add(wakeUp);
    try {
      for (;;) {
        const nowMs = clock.monotonicMs();
        const hasErrors = this.#deps.states.pod(uid).errors.length > 0;
        // Those that went meanwhile are not waited for: their time would be over for ever.
        errorsAtMs = hasErrors ? (errorsAtMs ?? collectedAtMs(startMs, nowMs)) : undefined;
        const errors = nowMs >= (errorsAtMs ?? endMs) ? this.#takeErrors(uid) : undefined;
        if (isDone()) return undefined;
        if (errors !== undefined) return errors;
        if (signal.aborted) return canceled;
        if (nowMs >= endMs) return deadlineExceeded;
        await wakeUp.wait(Math.min(endMs, errorsAtMs ?? endMs) - nowMs, signal);
      }
    } finally {
      this.#waiting.delete(wakeUp);
    }
  }

  #noteChange(): void {
    for (const wakeUp of this.#waiting) wakeUp.notify();
    this.#reconcileWakeUp.notify();
    const { states, wakeups } = this.#deps;
    const inUse = this.volumesInUse()?.join(" ");
    const unreported = this.isSynced ? states.unreported() : [];
    const isAwaited = unreported.some((name) => !this.#unreported.includes(name));
    if (isAwaited || inUse !== this.#inUse) wakeups.updateNode();
    this.#inUse = inUse;
    this.#unreported = unreported;
  }
}

function namesOf(pod: Pod): readonly string[] {
  return usedVolumes(pod).map(({ name }) => name);
}

/** The end of the period of the wait in which errors came up; at once for those that were there before. */
function collectedAtMs(startMs: number, nowMs: number): number {
  return startMs + Math.ceil((nowMs - startMs) / collectMs) * collectMs;
}
