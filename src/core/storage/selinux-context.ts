import type { MountEntry } from "../../lib/mount-info.ts";

/** The SELinux context with which a path was mounted; undefined without one. */
export function seLinuxContextOf(
  mounts: readonly Pick<MountEntry, "mountPoint" | "superOptions">[],
  path: string,
): string | undefined {
  const options = mounts.findLast(({ mountPoint }) => mountPoint === path)?.superOptions ?? "";
  const [, quoted, plain] = /(?:^|,)context=(?:"([^"]*)"|([^,"]*))/.exec(options) ?? [];
  return quoted ?? plain;
}
