import { checkHostPath, planHostPath } from "../../core/volume/host-path.ts";
import { ok } from "../../lib/result.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

/** A path of the node, which is checked, made if the pod asks for that, and otherwise left alone. */
export const hostPathPlugin: VolumePlugin = {
  name: "kubernetes.io/host-path",
  field: "hostPath",

  setUp: async ({ foreignFiles }, { volume }, signal) => {
    const { hostPath = { path: "" } } = volume;
    const { path, type = "" } = hostPath;
    const checked = checkHostPath(path);
    if (!checked.ok) return checked;
    const found = type === "" ? undefined : await foreignFiles.kindOf(path, signal);
    const preparation = planHostPath(hostPath, found);
    if (!preparation.ok) return preparation;
    if (preparation.value === "make-folder") await foreignFiles.makeFolder(path, signal);
    if (preparation.value === "make-file") await foreignFiles.makeFile(path, signal);
    return ok({
      kind: "hostPath",
      path,
      readOnly: false,
      managed: false,
      selinuxRelabel: false,
      selinuxLabeled: false,
    });
  },
};
