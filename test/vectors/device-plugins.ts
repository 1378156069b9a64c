// Device plugins that answer as a vector says, and a device manager with them.

import type { DeviceAnswer, DeviceCall } from "../../src/core/devices/plugin/device-calls.ts";
import type { ContainerAllocateResponse } from "../../src/model/generated/device-plugin.ts";

interface EncodedMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly?: boolean;
}

interface EncodedNode {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions?: string;
}

export interface EncodedDevicePlugin {
  readonly preStartRequired?: boolean;
  readonly getPreferredAllocationAvailable?: boolean;
  readonly preferred?: "first" | "last" | "one" | "empty";
  readonly preferredError?: string;
  readonly allocateError?: string;
  readonly preStartError?: string;
  readonly optionsError?: string;
  readonly response?: {
    readonly noContainerResponses?: boolean;
    readonly envs?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly mounts?: readonly EncodedMount[];
    readonly devices?: readonly EncodedNode[];
    readonly cdiDevices?: readonly string[];
    readonly perDevice?: readonly EncodedNode[];
    readonly perDeviceMounts?: readonly EncodedMount[];
    readonly perDeviceCDI?: readonly string[];
  };
}

export function rpcError(text: string): string {
  return `rpc error: code = Unknown desc = ${text}`;
}

/** What the plugin of a vector answers. */
export function answerCall(plugin: EncodedDevicePlugin, call: DeviceCall): DeviceAnswer {
  const failed = (error: string): DeviceAnswer => ({ kind: "failed", error: rpcError(error) });
  switch (call.method) {
    case "SaveCheckpoint":
      return { kind: "done" };
    case "PreStartContainer":
      return plugin.preStartError === undefined ? { kind: "done" } : failed(plugin.preStartError);
    case "Allocate":
      return plugin.allocateError === undefined
        ? { kind: "allocated", responses: allocateResponses(plugin, call.deviceIds) }
        : failed(plugin.allocateError);
    case "GetPreferredAllocation":
      return plugin.preferredError === undefined
        ? { kind: "preferred", deviceIds: preferredIds(plugin, call) }
        : failed(plugin.preferredError);
  }
}

function preferredIds(
  { preferred = "first" }: EncodedDevicePlugin,
  call: Extract<DeviceCall, { method: "GetPreferredAllocation" }>,
): string[] {
  if (preferred === "empty") return [];
  const available = call.available.toSorted();
  const ordered = preferred === "last" ? available.toReversed() : available;
  const ids = [...new Set([...call.mustInclude.toSorted(), ...ordered])];
  return ids.slice(0, preferred === "one" ? 1 : Math.max(call.size, call.mustInclude.length));
}

function allocateResponses(
  { response = {} }: EncodedDevicePlugin,
  deviceIds: readonly string[],
): ContainerAllocateResponse[] {
  if (response.noContainerResponses === true) return [];
  const ids = deviceIds.toSorted();
  const repeated = <T>(items: readonly T[] = []): T[] =>
    ids.flatMap((id) => items.map((item) => substituted(item, "{id}", id)));
  const whole = <T>(items: T): T => substituted(items, "{ids}", ids.join(","));
  return [
    {
      envs: whole(response.envs ?? {}),
      annotations: whole(response.annotations ?? {}),
      mounts: [...whole(response.mounts ?? []), ...repeated(response.perDeviceMounts)],
      devices: [...whole(response.devices ?? []), ...repeated(response.perDevice)],
      cdiDevices: [...whole(response.cdiDevices ?? []), ...repeated(response.perDeviceCDI)].map(
        (name) => ({ name }),
      ),
    },
  ];
}

function substituted<T>(value: T, placeholder: string, text: string): T {
  return JSON.parse(JSON.stringify(value).replaceAll(placeholder, text)) as T;
}
