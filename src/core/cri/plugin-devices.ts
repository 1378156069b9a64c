import type { DeviceOptions } from "../devices/plugin/device-options.ts";
import type { ContainerInputs } from "./container-inputs.ts";

/** Adds what plugins ask for. What the pod's own spec says of the environment goes before it. */
export function withPluginDevices(
  options: DeviceOptions | undefined,
  inputs: ContainerInputs,
): ContainerInputs {
  if (options === undefined) return inputs;
  const { envs, mounts, devices, annotations, cdiDevices } = options;
  return {
    ...inputs,
    environment: new Map([...envs, ...inputs.environment]),
    mounts: [
      ...mounts.map(({ hostPath, containerPath, readOnly }) => ({
        hostPath,
        containerPath,
        readonly: readOnly,
      })),
      ...inputs.mounts,
    ],
    devices: [
      ...devices.map(({ pathOnHost, pathInContainer, permissions }) => ({
        hostPath: pathOnHost,
        containerPath: pathInContainer,
        permissions,
      })),
      ...(inputs.devices ?? []),
    ],
    cdiDevices: [...cdiDevices.map((name) => ({ name })), ...(inputs.cdiDevices ?? [])],
    deviceAnnotations: { ...inputs.deviceAnnotations, ...Object.fromEntries(annotations) },
  };
}
