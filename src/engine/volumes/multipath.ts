import type { DeviceTree } from "../../ports/device-tree.ts";

const blockFolder = "/sys/block";
const mapperPrefix = "/dev/dm-";

/** The device-mapper device above a disk, which is itself if it is one; undefined without a multipath. */
export async function multipathOf(devices: DeviceTree, path: string): Promise<string | undefined> {
  if (isMapperDevice(path)) return path;
  const disk = await devices.resolve(path);
  const diskName = disk.ok ? deviceName(disk.value) : undefined;
  if (diskName === undefined) return undefined;
  for (const name of (await devices.list(blockFolder)) ?? []) {
    if (!name.startsWith("dm-")) continue;
    if (await devices.exists(`${blockFolder}/${name}/slaves/${diskName}`)) return `/dev/${name}`;
  }
  return undefined;
}

/** The disks of a multipath. */
export async function multipathDisks(devices: DeviceTree, path: string): Promise<string[]> {
  const name = deviceName(path);
  if (name === undefined) return [];
  const disks = await devices.list(`${blockFolder}/${name}/slaves`);
  return (disks ?? []).map((disk) => `/dev/${disk}`);
}

export function isMapperDevice(path: string): boolean {
  return path.startsWith(mapperPrefix);
}

/** The name of a device that lies directly in /dev. */
function deviceName(path: string): string | undefined {
  const [root, folder, name, ...below] = path.split("/");
  return root === "" && folder?.startsWith("dev") === true && below.length === 0 ? name : undefined;
}
