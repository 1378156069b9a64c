import { downwardPayload } from "../../core/volume/downward-payload.ts";
import { joinedErrors } from "../../lib/joined-errors.ts";
import { err } from "../../lib/result.ts";
import { payloadPlugin } from "./payload-volume.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

/** What the pod says of itself as files. */
export const downwardApiPlugin: VolumePlugin = payloadPlugin({
  name: "kubernetes.io/downward-api",
  field: "downwardAPI",
  medium: "Memory",
  payload: async ({ allocatable }, { pod, volume }) => {
    const payload = downwardPayload(volume.downwardAPI ?? {}, pod, allocatable);
    return payload.ok ? payload : err(joinedErrors(payload.error));
  },
});
