import { assert } from "../../lib/assert.ts";
import type { PodUid } from "../../model/ids.ts";

interface LoopWakeups {
  requestSync(uid: PodUid): void;
  requestHousekeeping(): void;
  askToStart(): void;
  /** A time was set at which something is due. */
  wake(): void;
  resume(): void;
}

interface ReadWakeups {
  requestRead(uid: PodUid): void;
  readWhenQuiet(uid: PodUid): void;
}

interface VolumeWakeups {
  requestLook(): void;
  retryPod(uid: PodUid): void;
  retryDriver(driver: string): void;
}

interface WakeupTargets {
  readonly loop: LoopWakeups;
  readonly reader: ReadWakeups;
  readonly allocations: { noteEnded(): void };
  /** Undefined = the node belongs to no cluster. */
  readonly nodeAgent: { requestUpdate(): void } | undefined;
  readonly storage: VolumeWakeups;
  readonly cpuReconciler: { requestLook(): void };
  /** Undefined = the node belongs to no cluster. */
  readonly csiAllocatable: { noteChanged(drivers: Iterable<string>): void } | undefined;
}

/**
 * What flows back: parts are constructed in the order in which they use each other, and ask those that come after them
 * through this. Nothing here returns anything or waits.
 */
export class Wakeups {
  #connected: WakeupTargets | undefined;

  /** Once, when everything is constructed. */
  connect(targets: WakeupTargets): void {
    assert(this.#connected === undefined, "the wake-ups are connected already");
    this.#connected = targets;
  }

  /** The sync loop looks at that pod soon. */
  look(uid: PodUid): void {
    this.#targets.loop.requestSync(uid);
  }

  /** The sync loop finds out what is due next. */
  lookAtQueue(): void {
    this.#targets.loop.wake();
  }

  /** The sync loop works with the runtime again. */
  resume(): void {
    this.#targets.loop.resume();
  }

  /** The next round of housekeeping comes soon. */
  housekeep(): void {
    this.#targets.loop.requestHousekeeping();
  }

  /** Something changed that pods may wait for: the sync loop asks whether they may start. */
  askToStart(): void {
    this.#targets.loop.askToStart();
  }

  /** A pod came to its end: resizes that wait for room are tried again. */
  retryResizes(): void {
    this.#targets.allocations.noteEnded();
  }

  /** The pod is read from the runtime again. */
  read(uid: PodUid): void {
    this.#targets.reader.requestRead(uid);
  }

  /** The same once no worker acts on the pod, or soon if that takes long. */
  readWhenQuiet(uid: PodUid): void {
    this.#targets.reader.readWhenQuiet(uid);
  }

  /** The API server gets the node's status soon. */
  updateNode(): void {
    this.#targets.nodeAgent?.requestUpdate();
  }

  /** What volumes wait for may have come: an attachment, or that the API server knows them as in use. */
  lookAtVolumes(): void {
    this.#targets.storage.requestLook();
  }

  /** The CPUs that containers share have changed. */
  lookAtCpus(): void {
    this.#targets.cpuReconciler.requestLook();
  }

  /** An object that the pod refers to has come or changed: the pod is looked at, and volumes that failed without it are tried again. */
  noteObject(uid: PodUid): void {
    this.#targets.loop.requestSync(uid);
    this.#targets.storage.retryPod(uid);
  }

  /** A CSI driver has registered: volumes that failed without it are tried again. */
  retryVolumesOf(driver: string): void {
    this.#targets.storage.retryDriver(driver);
  }

  /** The CSIDriver objects of these drivers came, changed or went. */
  noteCsiDrivers(drivers: readonly string[]): void {
    this.#targets.csiAllocatable?.noteChanged(drivers);
    this.#targets.storage.requestLook();
  }

  get #targets(): WakeupTargets {
    assert(this.#connected !== undefined, "a wake-up before everything is constructed");
    return this.#connected;
  }
}
