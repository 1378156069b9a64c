import type { SimMachine } from "../../../../src/app/sim-agent.ts";
import type { SimContainer } from "../../../../src/drivers/sim/sim-container.ts";
import { isPathWithin } from "../../../../src/lib/path-within.ts";
import { podUidLabel } from "../../../../src/model/labels.ts";
import type { Invariants } from "../invariants.ts";
import { Violation } from "../violation.ts";
import type { CsiCall, SimVolume } from "./sim-csi-driver.ts";
import { attachedName, findVolume, smallestBytes } from "./storage-objects.ts";
import { volumePaths } from "./volume-paths.ts";

const uidText = /[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}/;
/** An agent that makes more calls about one volume within some seconds spins. */
const mostCalls = 60;
/** The same of one that reads a claim or a volume again and again. */
const mostReads = 200;
const windowMs = 5_000;

export interface StorageRulesDeps {
  readonly machine: Pick<SimMachine, "files" | "mounts" | "clock">;
  readonly invariants: Invariants;
  /** Whether an agent started the container and learned so. */
  readonly isKnown: (containerId: string) => boolean;
  /** What the API server has; undefined without a cluster, or before the node is there. */
  readonly volumesInUse: () => readonly string[] | undefined;
  readonly volumes: () => readonly SimVolume[];
  /** What controllers have made of the volume; undefined without a cluster. */
  readonly capacityOf: (driver: string, handle: string) => bigint | undefined;
}

/**
 * Volumes are there before the containers that use them and as long as those run; a device is staged at one place, before and
 * as long as it is published; one grows where it is staged, and its claim is not larger; and the cluster knows of every attached volume that is in use.
 */
export class StorageRules {
  readonly #deps: StorageRulesDeps;
  /** By the volume, or by what was read of it. */
  readonly #calls = new Map<SimVolume | string, { count: number; sinceMs: number }>();

  constructor(deps: StorageRulesDeps) {
    this.#deps = deps;
  }

  /** An agent asks a driver for something. */
  noteCall(call: CsiCall): void {
    const { kind, volume, path } = call;
    this.#count(volume, volume.handle, mostCalls);
    switch (kind) {
      case "stage":
        this.#checkStage(call);
        return;
      case "publish":
        this.#checkPublish(call);
        return;
      case "unpublish":
        this.#checkUnpublish(path);
        return;
      case "unstage":
        for (const target of volume.publishedAt.keys()) {
          throw new Violation(`${volume.handle} is unstaged while it is published at ${target}`);
        }
        return;
      case "expand":
        this.#checkExpand(call);
    }
  }

  /** A claim has that size now. */
  noteClaimSize(driver: string, handle: string, bytes: bigint): void {
    const volume = this.#deps
      .volumes()
      .find((each) => each.driver === driver && each.handle === handle);
    const present = volume?.sizeBytes ?? smallestBytes;
    if (bytes <= present) return;
    throw new Violation(`the claim of ${handle} has ${bytes} bytes, and its volume ${present}`);
  }

  /** An agent reads a claim, a volume or an attachment. */
  noteRead(path: string): void {
    this.#count(path, path, mostReads);
  }

  /** The node's object changed. */
  noteNode(): void {
    const inUse = this.#deps.volumesInUse();
    if (inUse === undefined) return;
    for (const volume of this.#deps.volumes().filter(isUsed)) this.#checkInUse(volume, inUse);
  }

  /** The volume is no longer attached to the node. */
  noteDetached(driver: string, handle: string): void {
    const volumes = this.#deps.volumes().filter(isUsed);
    const isDriven = volumes.some((each) => each.driver === driver && each.handle === handle);
    if (isDriven) throw new Violation(`${handle} is detached while it is staged`);
  }

  /** A container was started by an agent that waits for it. */
  noteStart(container: SimContainer): void {
    const pod = this.#deps.invariants.podOf(container);
    if (pod === undefined) return;
    for (const path of volumePaths(pod)) {
      if (this.#isThere(path)) continue;
      const name = container.config.metadata?.name;
      throw new Violation(`${name} of ${pod.metadata.name} started without ${path}`);
    }
  }

  #checkStage({ volume, path }: CsiCall): void {
    if (volume.stagedAt !== undefined && volume.stagedAt !== path) {
      throw new Violation(`${volume.handle} is staged at ${volume.stagedAt} and at ${path}`);
    }
    const { files, mounts } = this.#deps.machine;
    if (!files.has(path) && mounts.sourceOf(path) === undefined) {
      throw new Violation(`${volume.handle} is staged where there is no folder: ${path}`);
    }
    const inUse = this.#deps.volumesInUse();
    if (inUse !== undefined) this.#checkInUse(volume, inUse);
  }

  #checkExpand({ volume, path, stagingPath, requiredBytes }: CsiCall): void {
    const { handle, stagedAt, busy, driver } = volume;
    // A raw device that is staged already is expanded without that path, as by a kubelet.
    const expected = stagingPath === "" ? stagedAt : stagingPath;
    if (busy === undefined && (stagedAt === undefined || stagedAt !== expected)) {
      throw new Violation(`${handle} is expanded at ${path}, and staged at ${stagedAt}`);
    }
    const most = this.#deps.capacityOf(driver, handle);
    if (most === undefined || requiredBytes <= most) return;
    throw new Violation(`${handle} is expanded to ${requiredBytes} bytes, and has ${most}`);
  }

  #checkInUse(volume: SimVolume, inUse: readonly string[]): void {
    if (findVolume(volume.driver, volume.handle)?.isAttachable !== true) return;
    const name = attachedName(volume);
    if (inUse.includes(name)) return;
    throw new Violation(`${name} is staged, and the node's status does not have it as in use`);
  }

  #checkPublish({ volume, path }: CsiCall): void {
    const { accessMode } = findVolume(volume.driver, volume.handle) ?? {};
    const other = [...volume.publishedAt.keys()].find((each) => each !== path);
    if (accessMode !== "ReadWriteOncePod" || other === undefined) return;
    throw new Violation(`${volume.handle} of one pod is published at ${other} and at ${path}`);
  }

  #checkUnpublish(path: string): void {
    const { invariants, isKnown } = this.#deps;
    const uid = uidText.exec(path)?.[0] ?? "";
    for (const container of invariants.runningOf(uid)) {
      const pod = invariants.podOf(container);
      if (!isKnown(container.place.id) || pod === undefined) continue;
      if (!uses(container, path)) continue;
      const name = container.config.metadata?.name;
      throw new Violation(`${path} is unpublished while ${name} of ${pod.metadata.name} runs`);
    }
  }

  #isThere(path: string): boolean {
    const { mounts } = this.#deps.machine;
    if (mounts.sourceOf(path) !== undefined) return true;
    return this.#deps.volumes().some(({ publishedAt }) => publishedAt.has(path));
  }

  #count(key: SimVolume | string, name: string, most: number): void {
    const nowMs = this.#deps.machine.clock.monotonicMs();
    const calls = this.#calls.get(key) ?? { count: 0, sinceMs: nowMs };
    this.#calls.set(key, calls);
    if (nowMs - calls.sinceMs > windowMs) {
      calls.count = 0;
      calls.sinceMs = nowMs;
    }
    calls.count += 1;
    if (calls.count <= most) return;
    throw new Violation(`${calls.count} calls about ${name} in ${windowMs / 1000} s`);
  }
}

/** Whether the container has the volume that is published there, or a part of it. */
function uses({ config }: SimContainer, path: string): boolean {
  const uid = config.labels?.[podUidLabel] ?? "";
  const parts = path.split("/");
  const isDevice = parts.at(-1) === uid;
  const name = parts.at(-2);
  if (isDevice)
    return (config.devices ?? []).some(({ hostPath }) => hostPath?.endsWith(`/${name}`));
  const subPaths = `/sim/pods/${uid}/volume-subpaths/${name}`;
  return (config.mounts ?? []).some(
    ({ hostPath = "" }) => isPathWithin(hostPath, path) || isPathWithin(hostPath, subPaths),
  );
}

/** It is staged, or may be at any moment. */
function isUsed({ stagedAt, busy }: SimVolume): boolean {
  return stagedAt !== undefined || busy === "stage";
}
