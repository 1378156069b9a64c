// What the mount table says about volumes that an earlier agent mounted.
import type { MountEntry } from "../../lib/mount-info.ts";
import type { PodUid } from "../../model/ids.ts";

/** The folder below a plugin's volumeDevices in which a device is bound for a pod. */
export function globalMapPathOf(
  mounts: readonly Pick<MountEntry, "mountPoint" | "root">[],
  devicesFolder: string,
  podUid: PodUid,
  device: string,
): string | undefined {
  const name = `/${podUid}`;
  const bind = mounts.find(
    ({ mountPoint, root }) =>
      mountPoint.startsWith(`${devicesFolder}/`) &&
      mountPoint.endsWith(name) &&
      // What is bound is a file of the file system at /dev.
      `/dev${root}` === device,
  );
  return bind?.mountPoint.slice(0, -name.length);
}

/** The SELinux context with which a path was mounted; undefined without one. */
export function seLinuxContextOf(
  mounts: readonly Pick<MountEntry, "mountPoint" | "superOptions">[],
  path: string,
): string | undefined {
  const options = mounts.findLast(({ mountPoint }) => mountPoint === path)?.superOptions ?? "";
  const [, quoted, plain] = /(?:^|,)context=(?:"([^"]*)"|([^,"]*))/.exec(options) ?? [];
  return quoted ?? plain;
}
