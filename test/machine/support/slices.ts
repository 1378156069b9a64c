import { readFileSync } from "node:fs";
import { join } from "node:path";
import { podQosClass } from "../../../src/core/resource/qos.ts";
import type { Pod } from "../../../src/model/pod.ts";

/** The slice of all pods. */
export const podsSlice = "/sys/fs/cgroup/kubepods.slice";

/** Where a pod has its cgroup with the systemd driver. */
export function sliceOf(pod: Pod): string {
  const uid = pod.metadata.uid.replaceAll("-", "_");
  const qosClass = podQosClass(pod).toLowerCase();
  if (qosClass === "guaranteed") return join(podsSlice, `kubepods-pod${uid}.slice`);
  const parent = join(podsSlice, `kubepods-${qosClass}.slice`);
  return join(parent, `kubepods-${qosClass}-pod${uid}.slice`);
}

/** Where a container of the pod has its own. */
export function scopeOf(pod: Pod, containerId: string): string {
  return join(sliceOf(pod), `cri-containerd-${containerId}.scope`);
}

export function textIn(cgroup: string, file: string): string {
  return readFileSync(join(cgroup, file), "utf8").trim();
}
