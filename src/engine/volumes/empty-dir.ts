import { isHugePagesMedium } from "../../core/volume/huge-page-size.ts";
import { ok } from "../../lib/result.ts";
import { makeVolumeFolder } from "./make-folder.ts";
import { emptyDirPluginName, volumeFolder } from "./volume-folders.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

/** A folder that lives as long as the pod: on disk, in memory, or of huge pages. */
export const emptyDirPlugin: VolumePlugin = {
  name: emptyDirPluginName,
  field: "emptyDir",

  refusal: ({ emptyDir: { medium = "" } = {} }) => {
    if (medium === "" || medium === "Memory" || isHugePagesMedium(medium)) return undefined;
    return `medium: ${medium} is unknown; it is Memory, HugePages, HugePages-<size>, or empty for the disk`;
  },

  setUp: async (deps, target, signal) => {
    const { pod, volume } = target;
    const { medium = "", sizeLimit } = volume.emptyDir ?? {};
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    const path = volumeFolder(deps, target, emptyDirPluginName);
    const onlyOnMismatch = fsGroupChangePolicy === "OnRootMismatch";
    const ownership =
      fsGroup === undefined ? undefined : { groupId: fsGroup, readOnly: false, onlyOnMismatch };
    const made = await makeVolumeFolder(
      deps,
      { path, medium, sizeLimit, pod, readyName: volume.name, ownership },
      signal,
    );
    if (!made.ok) return made;
    return ok({
      kind: "emptyDir",
      path,
      readOnly: false,
      managed: true,
      selinuxRelabel: true,
      selinuxLabeled: false,
    });
  },
};
