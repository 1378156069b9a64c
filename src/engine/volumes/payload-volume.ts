import { nestedMountPoints } from "../../core/volume/nested-mount-points.ts";
import { planPayload } from "../../core/volume/plan-payload.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { Payload } from "../../model/volume-payload.ts";
import { makeVolumeFolder } from "./make-folder.ts";
import { volumeFolder, wrappedName } from "./volume-folders.ts";
import type { PodVolume, VolumePlugin, VolumePluginDeps } from "./volume-plugin.ts";

type PayloadPlugin = Pick<VolumePlugin, "name" | "field" | "refusal"> &
  Required<Pick<VolumePlugin, "payload">> & {
    /** Secrets stay in memory. */
    readonly medium: "" | "Memory";
  };

/** A volume that shows files which the agent writes: read-only to containers, kept in line with its sources. */
export function payloadPlugin({ medium, ...plugin }: PayloadPlugin): VolumePlugin {
  return {
    ...plugin,
    setUp: async (deps, target, signal) => {
      const { pod, volume } = target;
      const path = volumeFolder(deps, target, plugin.name);
      const readyName = wrappedName(volume.name);
      const folder = { path, medium, pod, readyName, ownership: undefined };
      const made = await makeVolumeFolder(deps, folder, signal);
      if (!made.ok) return made;
      // Other volumes may be mounted inside, and a read-only volume has no place for them otherwise.
      await deps.payloadFiles.makeFolders(path, nestedMountPoints(volume.name, pod));
      return ok({
        kind: plugin.field,
        path,
        readOnly: true,
        managed: true,
        selinuxRelabel: true,
        selinuxLabeled: false,
      });
    },
  };
}

/** Makes a volume that is set up show these files, in one step for its readers. */
export async function publishPayload(
  { payloadFiles }: VolumePluginDeps,
  { pod }: PodVolume,
  path: string,
  payload: Payload,
): Promise<Result<void, string>> {
  const plan = planPayload(payload, await payloadFiles.readPayload(path));
  if (!plan.ok) return plan;
  const { fsGroup } = pod.spec.securityContext ?? {};
  const ownership =
    fsGroup === undefined ? undefined : { groupId: fsGroup, readOnly: true, onlyOnMismatch: false };
  return ok(await payloadFiles.publishPayload(path, plan.value, ownership));
}
