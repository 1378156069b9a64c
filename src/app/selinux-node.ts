import type { SeLinuxNode } from "../core/storage/selinux-label.ts";
import { isSelinuxEnabled, readSeLinuxContexts } from "../drivers/linux/selinux.ts";

/** Undefined where SELinux is not enabled. */
export function seLinuxNode(mountsAllModes: boolean): SeLinuxNode | undefined {
  return isSelinuxEnabled() ? { ...readSeLinuxContexts(), mountsAllModes } : undefined;
}
