import type { HeldDevices } from "./pod-devices.ts";

/** What a container's config gets for the devices it holds. */
export interface DeviceOptions {
  readonly envs: ReadonlyMap<string, string>;
  readonly mounts: readonly DeviceMount[];
  readonly devices: readonly DeviceNode[];
  readonly annotations: ReadonlyMap<string, string>;
  readonly cdiDevices: readonly string[];
}

interface DeviceMount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly readOnly: boolean;
}

interface DeviceNode {
  readonly pathOnHost: string;
  readonly pathInContainer: string;
  readonly permissions: string;
}

/** Puts the answers of several plugins together. Of two settings for one name or path the first counts. */
export function deviceOptions(held: Iterable<HeldDevices>): DeviceOptions {
  const envs = new Map<string, string>();
  const annotations = new Map<string, string>();
  const mounts = new Map<string, DeviceMount>();
  const devices = new Map<string, DeviceNode>();
  const cdiDevices = new Set<string>();
  for (const { response } of held) {
    for (const [name, value] of Object.entries(response.envs ?? {})) keepFirst(envs, name, value);
    for (const [name, value] of Object.entries(response.annotations ?? {})) {
      keepFirst(annotations, name, value);
    }
    for (const { containerPath = "", hostPath = "", readOnly = false } of response.mounts ?? []) {
      keepFirst(mounts, containerPath, { hostPath, containerPath, readOnly });
    }
    for (const { containerPath = "", hostPath = "", permissions = "" } of response.devices ?? []) {
      const device = { pathOnHost: hostPath, pathInContainer: containerPath, permissions };
      keepFirst(devices, containerPath, device);
    }
    for (const { name = "" } of response.cdiDevices ?? []) cdiDevices.add(name);
  }
  return {
    envs,
    annotations,
    mounts: [...mounts.values()],
    devices: [...devices.values()],
    cdiDevices: [...cdiDevices],
  };
}

/** With the devices of claims, which only have CDI names. */
export function withCdiDevices(
  options: DeviceOptions | undefined,
  names: readonly string[],
): DeviceOptions {
  const known = options ?? deviceOptions([]);
  return { ...known, cdiDevices: [...known.cdiDevices, ...names] };
}

function keepFirst<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key)) map.set(key, value);
}
