import {
  claimStatusPatch,
  decideExpansion,
  type ExpansionDecision,
  expansionFailed,
  expansionFinished,
  expansionStarted,
  storageOf,
  tracksExpansion,
} from "../../core/storage/expand-claim.ts";
import { isOperationFinished, type StorageError } from "../../core/storage/storage-error.ts";
import { volumeMessage } from "../../core/storage/volume-messages.ts";
import type { WantedVolume } from "../../core/storage/volume-state.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { formatTime } from "../../lib/time.ts";
import type { PersistentVolumeClaim } from "../../model/generated/kubernetes.ts";
import { compareQuantity, type Quantity } from "../../model/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodEvent, PodEvents } from "../../ports/pod-events.ts";
import type { Claims } from "./claims.ts";
import type { ExpandRequest, StoragePlugin } from "./storage-plugin.ts";
import type { VolumeStates } from "./volume-states.ts";

export interface VolumeExpansionDeps {
  readonly states: VolumeStates;
  readonly claims: Claims;
  readonly events: PodEvents;
  readonly clock: Pick<Clock, "nowMs">;
}

export interface ExpansionTarget {
  readonly wanted: WantedVolume;
  readonly plugin: StoragePlugin;
}

export type ExpansionPaths = Pick<
  ExpandRequest,
  "devicePath" | "deviceMountPath" | "deviceStagePath"
>;

/** One expansion: of a volume, from the size that its claim has to that of the persistent volume. */
interface Expansion extends ExpansionTarget {
  readonly claim: PersistentVolumeClaim;
  readonly oldSize: Quantity;
  readonly newSize: Quantity;
  readonly paths: ExpansionPaths;
  readonly signal: AbortSignal;
}

/** Whether it is done, and the size that the volume has then. */
interface Expanded {
  readonly isDone: boolean;
  readonly size: Quantity;
}

type Outcome = Promise<Result<Expanded, StorageError>>;

/** Expands volumes on the node after their controller has made them larger, and keeps their claims' statuses. */
export class VolumeExpansion {
  readonly #deps: VolumeExpansionDeps;

  constructor(deps: VolumeExpansionDeps) {
    this.#deps = deps;
  }

  /** Before a volume counts as mounted. */
  async duringMount(
    { wanted, plugin }: ExpansionTarget,
    paths: ExpansionPaths,
    signal: AbortSignal,
  ): Promise<Result<void, StorageError>> {
    const { spec, isExpandable } = wanted;
    const isInline = spec.source === "inline" || spec.inlineForMigration === true;
    if (!isExpandable || isInline) return ok(undefined);
    const claim = await this.#claimOf(wanted, signal);
    if (!claim.ok) return claim;
    const oldSize = storageOf(claim.value.status?.capacity);
    const newSize = storageOf(spec.persistentVolume.spec?.capacity);
    if (compareQuantity(oldSize, newSize) >= 0) return ok(undefined);
    const expansion = { wanted, plugin, claim: claim.value, oldSize, newSize, paths, signal };
    const done = await this.#expand(expansion);
    return done.ok ? ok(undefined) : done;
  }

  /** Of a volume that is mounted. */
  async online(
    { wanted, plugin }: ExpansionTarget,
    oldSize: Quantity,
    paths: ExpansionPaths,
    signal: AbortSignal,
  ): Promise<Result<void, StorageError>> {
    const { states } = this.#deps;
    const { desiredPersistentVolumeSize: newSize = oldSize, volumeName } = wanted;
    const claim = await this.#claimOf(wanted, signal);
    if (!claim.ok) return claim;
    const expansion = { wanted, plugin, claim: claim.value, oldSize, newSize, paths, signal };
    const done = await this.#expand(expansion);
    if (!done.ok) return done;
    if (done.value.isDone) states.changeVolume(volumeName, { size: done.value.size });
    return ok(undefined);
  }

  #expand(expansion: Expansion): Outcome {
    const { wanted, claim } = expansion;
    if (wanted.readOnly) {
      const suffix = "requested read-only file system";
      const message = volumeMessage("MountVolume.NodeExpandVolume failed", wanted, suffix);
      this.#record(expansion, { type: "Warning", reason: "FileSystemResizeFailed", message });
      return Promise.resolve(ok({ isDone: true, size: storageOf(claim.status?.capacity) }));
    }
    if (!tracksExpansion(claim)) return this.#expandUntracked(expansion);
    const newSize = storageOf(claim.status?.allocatedResources);
    return this.#expandTracked({ ...expansion, newSize });
  }

  /** A controller that does not keep track of failures: the claim gets its new size, nothing else. */
  async #expandUntracked(expansion: Expansion): Outcome {
    const { claim, newSize } = expansion;
    const done = await ask(expansion);
    if (!done.ok && done.error.kind === "failedPrecondition") {
      this.#refuseWhileInUse(expansion);
      return ok({ isDone: true, size: newSize });
    }
    if (!done.ok) {
      return done.error.kind === "notSupported" ? ok({ isDone: true, size: newSize }) : done;
    }
    this.#recordSuccess(expansion);
    if (compareQuantity(storageOf(claim.status?.capacity), newSize) < 0) {
      const patched = await this.#patch(expansion, expansionFinished(claim, newSize), true);
      if (!patched.ok) {
        return failed(`mountVolume.NodeExpandVolume update PVC status failed : ${patched.error}`);
      }
    }
    return ok({ isDone: true, size: newSize });
  }

  async #expandTracked(expansion: Expansion): Outcome {
    const { wanted, newSize } = expansion;
    const hasFailed = this.#deps.states.volume(wanted.volumeName)?.hasExpansionFailed === true;
    const decision = decideExpansion(expansion.claim, expansion, hasFailed);
    if (decision.skip !== undefined) return ok(decision.skip);
    let { claim } = expansion;
    if (!decision.isClaimUpdated) {
      const started = await this.#patch(expansion, expansionStarted(claim), true);
      if (!started.ok) return failed(started.error);
      claim = started.value;
    }
    const current = { ...expansion, claim };
    const done = await ask(current);
    if (!done.ok) return this.#noteFailure(current, decision, done.error);
    this.#recordSuccess(current);
    if (!decision.isClaimUpdated) {
      const patched = await this.#patch(current, expansionFinished(claim, newSize), true);
      if (!patched.ok) {
        return failed(`mountVolume.NodeExpandVolume update pvc status failed: ${patched.error}`);
      }
    }
    return ok({ isDone: true, size: newSize });
  }

  async #noteFailure(
    expansion: Expansion,
    decision: ExpansionDecision,
    error: StorageError,
  ): Outcome {
    const { states, clock } = this.#deps;
    const { wanted, claim, oldSize, newSize } = expansion;
    const { kind, message } = error;
    if (kind === "notSupported" && decision.isClaimUpdated) {
      return ok({ isDone: true, size: newSize });
    }
    if (isOperationFinished(error)) {
      states.changeVolume(wanted.volumeName, { hasExpansionFailed: true });
      const isInfeasible = kind === "infeasible" || decision.isInfeasibleOnFailure;
      const at = formatTime(clock.nowMs());
      // A claim that cannot be patched now is patched at the next failure.
      await this.#patch(expansion, expansionFailed(claim, { message, at, isInfeasible }), false);
    }
    if (kind === "failedPrecondition") {
      this.#refuseWhileInUse(expansion);
      return ok({ isDone: false, size: oldSize });
    }
    return err(error);
  }

  #refuseWhileInUse({ wanted }: Expansion): void {
    this.#deps.states.changeVolume(wanted.volumeName, { isExpansionRefused: true });
  }

  async #claimOf(
    { spec }: WantedVolume,
    signal: AbortSignal,
  ): Promise<Result<PersistentVolumeClaim, StorageError>> {
    const claimRef =
      spec.source === "persistentVolume" ? spec.persistentVolume.spec?.claimRef : undefined;
    const { namespace = "", name = "" } = claimRef ?? {};
    const claim = await this.#deps.claims.claim(namespace, name, signal);
    if (claim.ok) return claim;
    return failed(`mountVolume.NodeExpandVolume get PVC failed : ${claim.error}`);
  }

  async #patch(
    { claim, signal }: Expansion,
    next: NonNullable<PersistentVolumeClaim["status"]>,
    isVersionChecked: boolean,
  ): Promise<Result<PersistentVolumeClaim, string>> {
    const patch = claimStatusPatch(claim, next, { isVersionChecked });
    if (patch === undefined) return ok(claim);
    try {
      return ok(await this.#deps.claims.patchStatus(claim, patch, signal));
    } catch (error) {
      signal.throwIfAborted();
      const { name = "" } = claim.metadata ?? {};
      return err(`patchPVCStatus failed to patch PVC "${name}": ${errorText(error)}`);
    }
  }

  #recordSuccess(expansion: Expansion): void {
    const { wanted } = expansion;
    const suffix = wanted.pod.spec.nodeName ?? "";
    const message = volumeMessage("MountVolume.NodeExpandVolume succeeded", wanted, suffix);
    this.#record(expansion, { type: "Normal", reason: "FileSystemResizeSuccessful", message });
  }

  #record({ wanted, claim }: Expansion, event: PodEvent): void {
    this.#deps.events.record(wanted.pod, event);
    this.#deps.claims.record(claim, event);
  }
}

function ask({
  wanted,
  plugin,
  newSize,
  paths,
  signal,
}: Expansion): Promise<Result<void, StorageError>> {
  if (plugin.expand === undefined) return Promise.resolve(ok(undefined));
  return plugin.expand({ spec: wanted.spec, newSize, ...paths }, signal);
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
