import type { NodeVolume, PodMount, WantedVolume } from "../../core/storage/volume-state.ts";
import type { PodUid } from "../../model/ids.ts";
import { isZeroQuantity, type Quantity } from "../../model/quantity.ts";
import type { PodStorage, PodTable, SliceWriter } from "../pods/pod-table.ts";

const noStorage: PodStorage = {
  resolution: "new",
  wanted: new Map(),
  mounts: new Map(),
  errors: [],
  problems: [],
  awaited: undefined,
  operations: 0,
  asked: undefined,
  isResolved: false,
  resolving: undefined,
};

/** Of a pod, so that they cannot grow without bound. */
export const maxErrors = 11;

/** Which volumes pods want, which are mounted for them, and which are on the node, whichever pods use them. */
export class VolumeStates {
  readonly #pods: SliceWriter<"storage">;
  /** By unique name. */
  readonly #volumes = new Map<string, NodeVolume>();
  /** Those that pods want and that the node's status reports as in use. */
  #reportedInUse = new Set<string>();

  constructor(table: PodTable) {
    this.#pods = table.writer("storage");
  }

  pod(uid: PodUid): PodStorage {
    return this.#pods.get(uid) ?? noStorage;
  }

  pods(): IterableIterator<readonly [PodUid, PodStorage]> {
    return this.#pods.entries();
  }

  setPod(uid: PodUid, change: Partial<PodStorage>): void {
    this.#pods.set(uid, { ...this.pod(uid), ...change });
  }

  /** For the pod's owner to know; whether it is new. */
  addError(uid: PodUid, error: string): boolean {
    const { errors } = this.pod(uid);
    if (errors.includes(error) || errors.length >= maxErrors) return false;
    this.setPod(uid, { errors: [...errors, error] });
    return true;
  }

  /** Once nothing of the pod's volumes is wanted, mounted or to be reported. */
  forgetPod(uid: PodUid): void {
    this.#pods.set(uid, undefined);
  }

  /** Whether anything may be mounted for the pod, or is about to be. */
  hasMounts(uid: PodUid): boolean {
    return mayHaveMounts(this.pod(uid));
  }

  /** An operation on a volume of the pod has begun, or ended; one that outlived all that was known of the pod counts no more. */
  noteOperation(uid: PodUid, by: 1 | -1): void {
    const known = this.#pods.get(uid);
    if (known !== undefined) this.setPod(uid, { operations: known.operations + by });
  }

  /** Whether the volume is mounted for another pod, or may be. */
  isUsedByOthers(uid: PodUid, name: string): boolean {
    return [...this.#pods.entries()].some(
      ([other, { mounts }]) => other !== uid && mounts.has(name),
    );
  }

  /** The volumes that pods want as they are, or use, by name: they must stay. */
  namesInNeed(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const [, { wanted, mounts }] of this.#pods.entries()) {
      for (const [name, { seLinuxLabel }] of wanted) {
        const { seLinuxLabel: present = seLinuxLabel } = this.#volumes.get(name) ?? {};
        if (present === seLinuxLabel) names.add(name);
      }
      for (const name of mounts.keys()) names.add(name);
    }
    return names;
  }

  /** As one of the pods wants it. */
  findWanted(name: string): WantedVolume | undefined {
    for (const [, { wanted }] of this.#pods.entries()) {
      const found = wanted.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** What holds for the volume whichever pod wants it. */
  changeWanted(
    name: string,
    change: Partial<Pick<WantedVolume, "attachable" | "desiredPersistentVolumeSize">>,
  ): void {
    for (const [uid, { wanted }] of this.#pods.entries()) {
      const volume = wanted.get(name);
      if (volume === undefined) continue;
      this.setPod(uid, { wanted: new Map([...wanted, [name, { ...volume, ...change }]]) });
    }
  }

  removeWanted(uid: PodUid, name: string): void {
    this.setPod(uid, { wanted: without(this.pod(uid).wanted, name) });
    if (this.findWanted(name) === undefined) this.#reportedInUse.delete(name);
  }

  volume(name: string): NodeVolume | undefined {
    return this.#volumes.get(name);
  }

  volumes(): readonly NodeVolume[] {
    return [...this.#volumes.values()];
  }

  /** A volume that is attached to the node from now on, or needs no attachment. */
  addVolume(volume: NodeVolume): void {
    const known = this.#volumes.get(volume.name);
    const { devicePath } = volume;
    this.#volumes.set(volume.name, known === undefined ? volume : { ...known, devicePath });
  }

  changeVolume(name: string, change: Partial<NodeVolume>): void {
    const known = this.#volumes.get(name);
    if (known !== undefined) this.#volumes.set(name, { ...known, ...change });
  }

  /** It is the same volume under another name, for its pods too. */
  rename(from: string, to: string, change: Partial<NodeVolume>): void {
    const known = this.#volumes.get(from);
    if (known === undefined) return;
    this.#volumes.delete(from);
    this.#volumes.set(to, { ...known, ...change, name: to });
    for (const [uid, { mounts }] of this.#pods.entries()) {
      if (!mounts.has(from)) continue;
      const renamed = [...mounts].map(
        ([name, mount]) => [name === from ? to : name, mount] as const,
      );
      this.setPod(uid, { mounts: new Map(renamed) });
    }
  }

  removeVolume(name: string): void {
    this.#volumes.delete(name);
  }

  /** The claim's size, as long as none is known. */
  initializeSize(name: string, size: Quantity): void {
    const known = this.#volumes.get(name)?.size;
    if (known === undefined || isZeroQuantity(known)) this.changeVolume(name, { size });
  }

  setMount(uid: PodUid, name: string, mount: PodMount): void {
    if (this.#volumes.get(name)?.seLinuxLabel === undefined) {
      this.changeVolume(name, { seLinuxLabel: mount.seLinuxLabel });
    }
    this.setPod(uid, { mounts: new Map([...this.pod(uid).mounts, [name, mount]]) });
  }

  /** The SELinux context with which the device is mounted; an empty one leaves what is known. */
  noteLabel(name: string, seLinuxLabel: string): void {
    if (seLinuxLabel !== "") this.changeVolume(name, { seLinuxLabel });
  }

  /** Nothing of the volume is mounted for the pod any more. */
  removeMount(uid: PodUid, name: string): void {
    this.setPod(uid, { mounts: without(this.pod(uid).mounts, name) });
  }

  /** What the node's status is to report as in use: from before a volume is mounted until after its device is unmounted. */
  volumesInUse(): readonly string[] {
    const present = this.volumes().flatMap(({ name, isAttachable }) =>
      // A volume found on disk counts until it is known not to be attachable: what is reported away too early is lost.
      isAttachable === false ? [] : [name],
    );
    return [...new Set([...this.#wantedAttachable(), ...present])].toSorted();
  }

  /** One that several pods want is there once. */
  #wantedAttachable(): readonly string[] {
    const names = [...this.#pods.entries()].flatMap(([, { wanted }]) =>
      [...wanted].flatMap(([name, { attachable }]) => (attachable ? [name] : [])),
    );
    return [...new Set(names)];
  }

  /** A volume that comes to be wanted later is not among them, even if it was reported before. */
  noteReportedInUse(names: readonly string[]): void {
    this.#reportedInUse = new Set(names.filter((name) => this.findWanted(name) !== undefined));
  }

  /** Those that pods want and that the node's status has to report before they are mounted. */
  unreported(): readonly string[] {
    return this.#wantedAttachable().filter((name) => !this.#reportedInUse.has(name));
  }

  isReportedInUse(name: string): boolean {
    return this.#reportedInUse.has(name);
  }
}

/** Whether anything may be mounted for the pod, or is about to be. */
export function mayHaveMounts(storage: PodStorage | undefined): boolean {
  return storage !== undefined && (storage.mounts.size > 0 || storage.operations > 0);
}

function without<V>(map: ReadonlyMap<string, V>, name: string): ReadonlyMap<string, V> {
  if (!map.has(name)) return map;
  const rest = new Map(map);
  rest.delete(name);
  return rest;
}
