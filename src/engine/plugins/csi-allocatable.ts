import { csiAttachmentName, type Sha256 } from "../../core/storage/csi/csi-paths.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type {
  CSIDriver,
  PersistentVolume,
  VolumeAttachment,
} from "../../model/generated/kubernetes.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { CsiDrivers } from "../../ports/csi-drivers.ts";
import type { Log } from "../../ports/log.ts";
import { readObject } from "../cluster/read-object.ts";
import type { CsiNode } from "../node/csi-node.ts";
import type { CsiDriverRegistry } from "./csi-driver-registry.ts";
import { readDriverNodeInfo } from "./driver-node-info.ts";

/** gRPC's number for a driver that can attach no more volumes. */
const resourceExhausted = 8;

export interface CsiAllocatableDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: CsiDriverRegistry;
  readonly drivers: CsiDrivers;
  readonly csiNode: CsiNode;
  /** The CSIDriver objects of the cluster, by name. */
  readonly objects: { readonly items: ReadonlyMap<string, CSIDriver> };
  readonly nodeName: string;
  readonly sha256: Sha256;
}

interface Period {
  readonly ms: number;
  readonly nextAtMs: number;
}

/** Keeps how many volumes each driver can attach up to date, for drivers whose CSIDriver object asks for it. */
export class CsiAllocatable {
  readonly #deps: CsiAllocatableDeps;
  readonly #periods = new Map<string, Period>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #wakeUp: WakeUp;

  constructor(deps: CsiAllocatableDeps) {
    this.#deps = deps;
    this.#wakeUp = new WakeUp(deps.clock);
  }

  /** Updates what is due until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const [driver, { nextAtMs }] of this.#periods) {
        if (nextAtMs <= this.#nowMs()) this.#startUpdate(driver, signal);
      }
      const next = Math.min(...[...this.#periods.values()].map(({ nextAtMs }) => nextAtMs));
      await this.#wakeUp.wait(next - this.#nowMs(), signal);
    }
    await Promise.all(this.#running.values());
  }

  /** The driver was registered: its period begins. */
  start(driver: string): void {
    this.#periods.delete(driver);
    this.noteChanged([driver]);
  }

  stop(driver: string): void {
    this.#periods.delete(driver);
  }

  /** The CSIDriver objects of these drivers may have changed. */
  noteChanged(drivers: Iterable<string>): void {
    for (const driver of drivers) {
      const isRegistered = this.#deps.registry.drivers.has(driver);
      const ms = isRegistered ? this.#periodMs(driver) : 0;
      if (ms === (this.#periods.get(driver)?.ms ?? 0)) continue;
      if (ms === 0) this.#periods.delete(driver);
      else this.#periods.set(driver, { ms, nextAtMs: this.#nowMs() + ms });
    }
    this.#wakeUp.notify();
  }

  /** Whether a volume could not be attached because the driver has no room on this node; its count is updated then. */
  async verifyExhausted(volume: PersistentVolume, signal: AbortSignal): Promise<boolean> {
    const { log, nodeName, sha256 } = this.#deps;
    const { driver = "", volumeHandle: handle = "" } = volume.spec?.csi ?? {};
    if (this.#periodMs(driver) === 0) return false;
    const name = csiAttachmentName({ handle, driver, nodeName }, sha256);
    const path = `/apis/storage.k8s.io/v1/volumeattachments/${name}`;
    const attachment = await readObject<VolumeAttachment>(this.#deps, path, signal);
    if (!attachment.ok) {
      log.warn("cannot read a volume attachment", { name, error: attachment.error.message });
      return false;
    }
    if (attachment.value.status?.attachError?.errorCode !== resourceExhausted) return false;
    await this.#update(driver, signal);
    return true;
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  #periodMs(driver: string): number {
    const { spec } = this.#deps.objects.items.get(driver) ?? {};
    return Math.max(0, spec?.nodeAllocatableUpdatePeriodSeconds ?? 0) * 1000;
  }

  /** A driver that is still being asked is not asked again. */
  #startUpdate(driver: string, signal: AbortSignal): void {
    const period = this.#periods.get(driver);
    if (period === undefined) return;
    const { ms, nextAtMs } = period;
    this.#periods.set(driver, { ms, nextAtMs: Math.max(nextAtMs, this.#nowMs() - ms) + ms });
    if (this.#running.has(driver)) return;
    const run = async (): Promise<void> => {
      await this.#update(driver, signal).catch(() => undefined);
      this.#running.delete(driver);
    };
    this.#running.set(driver, run());
  }

  async #update(driver: string, signal: AbortSignal): Promise<void> {
    const { csiNode, log } = this.#deps;
    const info = await readDriverNodeInfo(this.#deps, driver, signal);
    const outcome = info.ok ? await csiNode.updateDriver(info.value, signal) : info;
    if (outcome.ok) return;
    log.warn("cannot update how many volumes a csi driver can attach", {
      driver,
      error: outcome.error,
    });
  }
}
