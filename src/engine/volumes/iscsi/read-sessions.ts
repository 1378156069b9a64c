import {
  hostNumberOf,
  type IscsiConnection,
  type IscsiSession,
} from "../../../core/storage/iscsi/iscsi-sessions.ts";
import type { DeviceTree } from "../../../ports/device-tree.ts";

const hostsFolder = "/sys/class/iscsi_host";

interface FoundSession {
  readonly hostNumber: number;
  readonly folder: string;
  /** Undefined when it cannot be read. */
  readonly targetName: string | undefined;
}

/** The sessions of the node with a target. One that vanishes meanwhile is left out. */
export async function readSessions(
  devices: DeviceTree,
  iqn: string,
): Promise<readonly IscsiSession[]> {
  const sessions: IscsiSession[] = [];
  for (const { hostNumber, folder, targetName } of await listSessions(devices)) {
    if (targetName !== iqn) continue;
    const connections: IscsiConnection[] = [];
    for (const name of (await devices.list(folder)) ?? []) {
      if (!name.startsWith("connection")) continue;
      const connection = await readConnection(
        devices,
        `${folder}/${name}/iscsi_connection/${name}`,
      );
      if (connection !== undefined) connections.push(connection);
    }
    sessions.push({ hostNumber, connections });
  }
  return sessions;
}

/** The names of the disks that are this LUN of the target, one for each session. None while a session cannot be read: whose it is is unknown. */
export async function lunDiskNames(
  devices: DeviceTree,
  iqn: string,
  lun: number,
): Promise<readonly string[]> {
  const sessions = await listSessions(devices);
  if (sessions.some(({ targetName }) => targetName === undefined)) return [];
  const names: string[] = [];
  for (const { hostNumber, folder, targetName } of sessions) {
    if (targetName !== iqn) continue;
    const lunFolder = `${folder}/target${hostNumber}:0:0/${hostNumber}:0:0:${lun}`;
    const [name] = (await devices.list(`${lunFolder}/block`)) ?? [];
    if (name !== undefined) names.push(name);
  }
  return names;
}

async function listSessions(devices: DeviceTree): Promise<readonly FoundSession[]> {
  const sessions: FoundSession[] = [];
  for (const host of (await devices.list(hostsFolder)) ?? []) {
    const hostNumber = hostNumberOf(host);
    if (hostNumber === undefined) continue;
    const hostFolder = `${hostsFolder}/${host}/device`;
    for (const name of (await devices.list(hostFolder)) ?? []) {
      if (!name.startsWith("session")) continue;
      const folder = `${hostFolder}/${name}`;
      const targetName = await devices.readText(`${folder}/iscsi_session/${name}/targetname`);
      sessions.push({ hostNumber, folder, targetName: targetName?.trim() });
    }
  }
  return sessions;
}

async function readConnection(
  devices: DeviceTree,
  folder: string,
): Promise<IscsiConnection | undefined> {
  const read = async (name: string): Promise<string | undefined> =>
    (await devices.readText(`${folder}/${name}`))?.trim();
  const address = await read("address");
  const port = await read("port");
  const persistentAddress = await read("persistent_address");
  const persistentPort = await read("persistent_port");
  if (
    address === undefined ||
    port === undefined ||
    persistentAddress === undefined ||
    persistentPort === undefined
  ) {
    return undefined;
  }
  return { address, port, persistentAddress, persistentPort };
}
