import type { DevicePluginOptions } from "../../../model/generated/device-plugin.ts";
import type { DeviceEndpoint } from "./device-calls.ts";

/** A device as its plugin last reported it. */
export interface PluginDevice {
  readonly id: string;
  /** "Healthy", or anything else. */
  readonly health: string;
  /** undefined: the plugin says nothing about NUMA; an empty list: near no node. */
  readonly nodes: readonly number[] | undefined;
}

export const healthyDevice = "Healthy";

/** For how long the resource of a plugin that went stays in the node's status. */
const stopGraceMs = 300_000;

export interface DeviceCapacity {
  readonly capacity: ReadonlyMap<string, number>;
  readonly allocatable: ReadonlyMap<string, number>;
  /** Resources whose plugins have been away for too long. They are forgotten: the checkpoint has to be saved. */
  readonly deleted: readonly string[];
}

/** The plugins of the node and the devices they report. */
export class DeviceInventory {
  readonly #endpoints = new Map<string, DeviceEndpoint>();
  readonly #devices = new Map<string, ReadonlyMap<string, PluginDevice>>();
  readonly #healthy = new Map<string, ReadonlySet<string>>();
  readonly #unhealthy = new Map<string, ReadonlySet<string>>();

  /** The devices of a resource that can be handed out; undefined when no plugin registered it. */
  healthy(resource: string): ReadonlySet<string> | undefined {
    return this.#healthy.get(resource);
  }

  healthyByResource(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#healthy;
  }

  /** The devices that cannot be handed out now: reported as such, or of a plugin that went. */
  unhealthy(resource: string): ReadonlySet<string> {
    return this.#unhealthy.get(resource) ?? new Set();
  }

  endpoint(resource: string): DeviceEndpoint | undefined {
    return this.#endpoints.get(resource);
  }

  devices(resource: string): ReadonlyMap<string, PluginDevice> {
    return this.#devices.get(resource) ?? new Map<string, PluginDevice>();
  }

  /** Whether any device of the resource is near a NUMA node; if none is, they all are as good. */
  hasTopology(resource: string): boolean {
    return [...this.devices(resource).values()].some(({ nodes = [] }) => nodes.length > 0);
  }

  /** The NUMA nodes near a device; none for one that is no longer reported. */
  nodesOf(resource: string, id: string): readonly number[] {
    return this.devices(resource).get(id)?.nodes ?? [];
  }

  connect(resource: string, options: DevicePluginOptions): void {
    this.#endpoints.set(resource, { options, stoppedAtMs: undefined });
  }

  /** A resource of the checkpoint: it stays known, with no device, until its plugin connects or the grace period ends. */
  restore(resource: string, nowMs: number): void {
    this.#endpoints.set(resource, { options: undefined, stoppedAtMs: nowMs });
    this.#healthy.set(resource, new Set());
    this.#unhealthy.set(resource, new Set());
  }

  /** Nothing more can be handed out, but the capacity stays for the grace period. */
  disconnect(resource: string, nowMs: number): void {
    const endpoint = this.#endpoints.get(resource);
    if (endpoint === undefined) return;
    const healthy = this.#healthy.get(resource);
    const unhealthy = this.#unhealthy.get(resource) ?? [];
    if (healthy !== undefined) this.#healthy.set(resource, new Set());
    this.#unhealthy.set(resource, new Set([...unhealthy, ...(healthy ?? [])]));
    this.#endpoints.set(resource, { ...endpoint, stoppedAtMs: nowMs });
  }

  /** Takes the whole list of a resource's devices; returns those that are new or whose health changed. */
  update(resource: string, devices: readonly PluginDevice[]): string[] {
    const before = this.devices(resource);
    const isHealthy = ({ health }: PluginDevice): boolean => health === healthyDevice;
    this.#devices.set(resource, new Map(devices.map((device) => [device.id, device])));
    this.#healthy.set(resource, new Set(devices.filter(isHealthy).map(({ id }) => id)));
    this.#unhealthy.set(
      resource,
      new Set(devices.filter((device) => !isHealthy(device)).map(({ id }) => id)),
    );
    return devices
      .filter(({ id, health }) => before.get(id)?.health !== health)
      .map(({ id }) => id);
  }

  /** What the node reports. Forgets resources whose plugins have been away for longer than the grace period. */
  capacity(nowMs: number): DeviceCapacity {
    const resources = new Set([...this.#healthy.keys(), ...this.#unhealthy.keys()]);
    const deleted = [...resources].filter((resource) => this.#isGone(resource, nowMs));
    for (const resource of deleted) {
      this.#endpoints.delete(resource);
      this.#healthy.delete(resource);
      this.#unhealthy.delete(resource);
    }
    const capacity = new Map<string, number>();
    const allocatable = new Map<string, number>();
    for (const [resource, ids] of this.#healthy) {
      allocatable.set(resource, ids.size);
      capacity.set(resource, ids.size);
    }
    for (const [resource, ids] of this.#unhealthy) {
      capacity.set(resource, (capacity.get(resource) ?? 0) + ids.size);
    }
    return { capacity, allocatable, deleted };
  }

  #isGone(resource: string, nowMs: number): boolean {
    const endpoint = this.#endpoints.get(resource);
    if (endpoint === undefined) return true;
    return endpoint.stoppedAtMs !== undefined && nowMs - endpoint.stoppedAtMs > stopGraceMs;
  }
}
