import { ClaimResources } from "../devices/claim-resources.ts";
import { CpuReconciler } from "../devices/cpu-reconciler.ts";
import { DeviceAdmission } from "../devices/device-admission.ts";
import { DeviceAllocator } from "../devices/device-allocator.ts";
import { DeviceEndpoints } from "../devices/device-endpoints.ts";
import { DeviceStore } from "../devices/device-store.ts";
import { DraEndpoints } from "../devices/dra-endpoints.ts";
import { Holders } from "../devices/holders.ts";
import { ManagerMetrics } from "../devices/manager-metrics.ts";
import { NodeManagers } from "../devices/node-managers.ts";
import { PodResourcesService } from "../devices/pod-resources-service.ts";
import type { Base } from "./agent-base.ts";

/** What hands out CPUs, memory and devices to containers. */
export class DeviceParts {
  readonly deviceStore: DeviceStore;
  readonly deviceEndpoints: DeviceEndpoints;
  readonly draEndpoints: DraEndpoints;
  readonly claimResources: ClaimResources;
  readonly managers: NodeManagers;
  readonly deviceAdmission: DeviceAdmission;
  readonly cpuReconciler: CpuReconciler;
  readonly podResources: PodResourcesService;

  constructor(base: Base) {
    this.deviceStore = new DeviceStore(base);
    const counted = { ...base, managerMetrics: new ManagerMetrics(base) };
    const known = { ...counted, ports: base, store: this.deviceStore, holders: new Holders(base) };
    this.deviceEndpoints = new DeviceEndpoints(known);
    const devices = new DeviceAllocator({ ...known, endpoints: this.deviceEndpoints });
    this.draEndpoints = new DraEndpoints(counted);
    this.claimResources = new ClaimResources({ ...known, endpoints: this.draEndpoints });
    this.managers = new NodeManagers({ ...known, devices, claimResources: this.claimResources });
    const managed = { ...counted, managers: this.managers };
    this.deviceAdmission = new DeviceAdmission(managed);
    this.cpuReconciler = new CpuReconciler(managed);
    this.podResources = new PodResourcesService(managed);
  }
}
