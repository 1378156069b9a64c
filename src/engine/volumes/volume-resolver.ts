import type { RuntimeSettings } from "../../core/cri/runtime-settings.ts";
import { storageOf } from "../../core/storage/expand-claim.ts";
import { findKindOf } from "../../core/storage/kinds/find-kind.ts";
import {
  nodeFactsOf,
  type ResolvedVolume,
  resolveVolumes,
} from "../../core/storage/resolve-volumes.ts";
import { labelVolume, type VolumeLabels } from "../../core/storage/selinux-label.ts";
import type { WantedVolume } from "../../core/storage/volume-state.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { ManagedPod, PodTable } from "../pods/pod-table.ts";
import type { WorkerStates } from "../pods/worker-states.ts";
import { type Claims, readClaims } from "./claims.ts";
import type { FoundVolumes } from "./found-volumes.ts";
import { maxErrors, type VolumeStates } from "./volume-states.ts";

export interface VolumeResolverDeps {
  readonly table: PodTable;
  readonly workerStates: Pick<
    WorkerStates,
    "shouldPodContainersBeTerminating" | "shouldPodRuntimeBeRemoved"
  >;
  readonly sources: Pick<SourceReadiness, "areAllReady">;
  readonly states: VolumeStates;
  readonly found: FoundVolumes;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly settings: { readonly runtimeSettings: Pick<RuntimeSettings, "seLinux"> };
}

type ResolvedVolumes = ReturnType<typeof resolveVolumes>;

function hasRunningContainer(pod: ManagedPod | undefined): boolean {
  return pod?.observed?.state?.containers.some(({ state }) => state === "running") === true;
}

/** Finds out which volumes pods want: each pod by itself, since a claim may take long to read. */
export class VolumeResolver {
  readonly #deps: VolumeResolverDeps;
  /** All sources had delivered when pods were looked at: what none of them wants may be unmounted. */
  areAllResolved = false;

  constructor(deps: VolumeResolverDeps) {
    this.#deps = deps;
  }

  /** Starts with all pods that are due and not being resolved. Each resolves to whether its pod is due again. */
  start(signal: AbortSignal): readonly Promise<boolean>[] {
    const due = this.#due().filter(({ uid }) => this.#deps.states.pod(uid).resolving === undefined);
    const resolving = due.map(({ uid, wanted }) => this.#resolve(uid, wanted, signal));
    // What was mounted before this agent's time for a pod stays until that pod was resolved.
    if (this.#deps.sources.areAllReady) this.areAllResolved = true;
    return resolving;
  }

  /** No pod is due to be resolved, nor being resolved, and all sources have delivered theirs. */
  get isComplete(): boolean {
    return this.areAllResolved && this.#due().length === 0;
  }

  #due(): readonly { readonly uid: PodUid; readonly wanted: Pod }[] {
    const { table, states } = this.#deps;
    return [...table.all()].flatMap(({ uid, wanted }) => {
      const { resolution, resolving, asked, mounts } = states.pod(uid);
      if (wanted === undefined || (resolution === "done" && resolving === undefined)) return [];
      // One that has not come so far wants something only if an agent before this one has mounted it.
      if (asked !== "mount" && mounts.size === 0) return [];
      return this.#hasEnded(uid) ? [] : [{ uid, wanted }];
    });
  }

  #hasEnded(uid: PodUid): boolean {
    const { table, workerStates } = this.#deps;
    if (table.get(uid)?.removal?.state === "running") return true;
    return this.areAllResolved
      ? workerStates.shouldPodContainersBeTerminating(uid)
      : workerStates.shouldPodRuntimeBeRemoved(uid);
  }

  /** Whether it was asked for again meanwhile. */
  async #resolve(uid: PodUid, pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { states } = this.#deps;
    const wasAsked = states.pod(uid).resolution === "due";
    // From here on it is due only if it is asked for again.
    states.setPod(uid, { resolving: pod, resolution: "done" });
    const read = await this.#read(pod, signal);
    const isForgotten = states.pod(uid).resolving !== pod;
    if (isForgotten || signal.aborted) return false;
    states.setPod(uid, { resolving: undefined });
    const isAskedAgain = states.pod(uid).resolution === "due";
    if (this.#hasEnded(uid)) {
      if (!isAskedAgain) states.setPod(uid, { resolution: "new" });
      return isAskedAgain;
    }
    const errors = read.ok ? this.#note(uid, pod, read.value) : [read.error];
    const { errors: before, mounts, wanted } = states.pod(uid);
    if (errors.length > 0) {
      const all = [...new Set([...before, ...errors])].slice(0, maxErrors);
      states.setPod(uid, { errors: all, problems: errors, isResolved: false });
      if (!wasAsked && !isAskedAgain) states.setPod(uid, { resolution: "new" });
      return isAskedAgain;
    }
    const due = [...mounts].map(([name, mount]) => {
      const isRemountDue = mount.isRemountDue || wanted.get(name)?.requiresRemount === true;
      return [name, { ...mount, isRemountDue }] as const;
    });
    states.setPod(uid, { mounts: new Map(due), errors: [], problems: [], isResolved: true });
    return isAskedAgain;
  }

  async #read(pod: Pod, signal: AbortSignal): Promise<Result<ResolvedVolumes, string>> {
    try {
      return ok(resolveVolumes(pod, await readClaims(this.#deps.claims, pod, signal)));
    } catch (error) {
      return err(errorText(error));
    }
  }

  /** Adds what the pod wants; returns why some of it could not be found out. */
  #note(uid: PodUid, pod: Pod, { volumes, errors }: ResolvedVolumes): readonly string[] {
    const { states } = this.#deps;
    const problems = [...errors];
    for (const volume of volumes) {
      const { volumeName: name, claim } = volume;
      const labels = this.#label(uid, pod, volume);
      if (!labels.ok) {
        problems.push(labels.error);
        continue;
      }
      const next = { ...this.#wantedVolume(uid, pod, volume), ...labels.value };
      const { wanted } = states.pod(uid);
      states.setPod(uid, { wanted: new Map([...wanted, [name, next]]) });
      if (claim === undefined) continue;
      const { desiredPersistentVolumeSize } = next;
      states.changeWanted(name, { desiredPersistentVolumeSize });
      states.initializeSize(name, storageOf(claim.status?.capacity));
    }
    return problems;
  }

  /** An error is why the pod cannot have the volume as long as others have it. */
  #label(uid: PodUid, pod: Pod, volume: ResolvedVolume): Result<VolumeLabels, string> {
    const { states, table, metrics, settings } = this.#deps;
    const { volumeName: name } = volume;
    const { wanted, mounts } = states.pod(uid);
    const known = states.findWanted(name);
    const found = hasRunningContainer(table.get(uid)) ? mounts.get(name) : undefined;
    const inUse = found?.isFound === true ? found.seLinuxLabel : undefined;
    const isWanted = wanted.has(name);
    const { seLinux: node } = settings.runtimeSettings;
    const { labels, counted } = labelVolume({ pod, volume, node, known, isWanted, inUse });
    for (const count of counted) metrics.increment(count.metric, count.labels);
    return labels;
  }

  #wantedVolume(
    uid: PodUid,
    pod: Pod,
    volume: ResolvedVolume,
  ): Omit<WantedVolume, keyof VolumeLabels> {
    const { states, clock } = this.#deps;
    const { volumeName: name } = volume;
    const before = states.pod(uid).wanted.get(name);
    const outer = before?.outerVolumeSpecNames ?? [];
    const isSame = before !== undefined && !volume.requiresRemount;
    return {
      ...volume,
      ...nodeFactsOf(volume, states.findWanted(name)),
      outerVolumeSpecNames: [...new Set([...outer, ...volume.outerVolumeSpecNames])],
      pod,
      wantedMs: isSame ? before.wantedMs : clock.monotonicMs(),
    };
  }

  /** What pods want whose containers have ended is not wanted any more. */
  dropUnwanted(): void {
    const { states, table, workerStates } = this.#deps;
    for (const [uid, { wanted, mounts, asked, operations }] of states.pods()) {
      const entry = table.get(uid);
      const isKnown = entry?.wanted !== undefined;
      // What is left of a past life goes, though the pod is wanted again.
      const isRemoved = entry?.removal?.state === "running";
      // A worker may finish with a life whose containers it never saw: those that another agent left.
      const isStopped = !hasRunningContainer(entry) && workerStates.shouldPodRuntimeBeRemoved(uid);
      const hasEnded = isRemoved || isStopped;
      // A pod that was refused asks for nothing; what an agent before this one mounted for it has to go.
      if (isKnown && isStopped && !isRemoved && asked === undefined && mounts.size > 0) {
        states.setPod(uid, { asked: "unmount" });
      }
      const maySoonBeMounted = isKnown && (asked === "mount" || operations > 0);
      for (const [name, volume] of wanted) {
        if (isKnown && volume.attachable && !this.#isAttachable(volume)) {
          states.changeWanted(name, { attachable: false });
          continue;
        }
        // What an operation may be about to mount stays wanted; what none will mount would keep its device for nothing.
        if (!hasEnded || (maySoonBeMounted && !mounts.has(name))) continue;
        states.removeWanted(uid, name);
        states.setPod(uid, { resolution: "new", errors: [] });
      }
      if (!isKnown) states.setPod(uid, { errors: [] });
      if (!isKnown && hasEnded && wanted.size === 0) states.setPod(uid, { resolution: "new" });
      this.#forgetIfGone(uid, isKnown);
    }
  }

  #forgetIfGone(uid: PodUid, isKnown: boolean): void {
    const { states, found } = this.#deps;
    const { wanted, resolution } = states.pod(uid);
    if (isKnown || states.hasMounts(uid) || found.mayHave(uid)) return;
    if (wanted.size === 0 && resolution === "new") states.forgetPod(uid);
  }

  /** Whether it still is: the object of its driver may have changed. */
  #isAttachable({ spec }: WantedVolume): boolean {
    const kind = findKindOf(spec, []);
    const findDriver = (name: string) => this.#deps.claims.csiDriver(name);
    return !kind.ok || kind.value.traits(spec, findDriver).attachable;
  }
}
