import { CpuReconciler } from "../devices/cpu-reconciler.ts";
import { DeviceAdmission } from "../devices/device-admission.ts";
import { Holders } from "../devices/holders.ts";
import { NodeManagers } from "../devices/node-managers.ts";
import type { Base } from "./agent-base.ts";

/** What hands out CPUs, memory and devices to containers. */
export class DeviceParts {
  readonly managers: NodeManagers;
  readonly deviceAdmission: DeviceAdmission;
  readonly cpuReconciler: CpuReconciler;

  constructor(base: Base) {
    this.managers = new NodeManagers({ ...base, holders: new Holders(base) });
    const managed = { ...base, managers: this.managers };
    this.deviceAdmission = new DeviceAdmission(managed);
    this.cpuReconciler = new CpuReconciler(managed);
  }
}
