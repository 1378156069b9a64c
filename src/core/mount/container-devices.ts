import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Device } from "../../model/generated/cri.ts";
import type { AnyContainer } from "../../model/pod.ts";
import type { MountedVolume } from "./container-mounts.ts";

/** The raw devices of a container: its block volumes in order. */
export function containerDevices(
  { name: container, volumeDevices = [] }: AnyContainer,
  volumes: ReadonlyMap<string, MountedVolume>,
): Result<readonly Device[], string> {
  const devices: Device[] = [];
  for (const { name, devicePath } of volumeDevices) {
    const volume = volumes.get(name);
    if (volume === undefined) {
      const names = `volume ${quoteText(name)} to pass into container ${quoteText(container)}`;
      return err(`cannot find ${names}`);
    }
    const permissions = volume.readOnly ? "r" : "mrw";
    devices.push({ hostPath: volume.path, containerPath: devicePath, permissions });
  }
  return ok(devices);
}
