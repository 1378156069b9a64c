import type { DriverNodeInfo } from "../../core/storage/csi/csi-node-changes.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { CsiDrivers } from "../../ports/csi-drivers.ts";
import type { CsiDriverRegistry } from "./csi-driver-registry.ts";

/** Asks a registered driver about this node. */
export async function readDriverNodeInfo(
  deps: { readonly registry: CsiDriverRegistry; readonly drivers: CsiDrivers },
  driver: string,
  signal: AbortSignal,
): Promise<Result<DriverNodeInfo, string>> {
  const registered = deps.registry.drivers.get(driver);
  if (registered === undefined) {
    return err(`driver name ${driver} not found in the list of registered CSI drivers`);
  }
  try {
    const info = await deps.drivers.connect(registered.endpoint).getInfo(signal);
    return ok({
      driver,
      nodeId: info.nodeId ?? "",
      maxVolumes: info.maxVolumesPerNode ?? 0n,
      topology: info.accessibleTopology?.segments ?? {},
    });
  } catch (error) {
    signal.throwIfAborted();
    return err(errorText(error));
  }
}
