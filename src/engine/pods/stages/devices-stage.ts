import type { NodeManagers } from "../../devices/node-managers.ts";
import type { PodStage } from "../pod-stage.ts";

export interface DevicesStageDeps {
  readonly managers: Pick<NodeManagers, "release">;
}

/** What a pod's containers have for themselves: it was handed out when the pod was admitted, and is given back when they have ended. */
export function devicesStage({ managers }: DevicesStageDeps): PodStage {
  return {
    name: "devices",
    prepare: async () => undefined,
    release: ({ metadata }) => managers.release(metadata.uid),
    remove: (uid) => managers.release(uid),
  };
}
