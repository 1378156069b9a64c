import { isAttachDone, maxAttachAttempts } from "../../../core/storage/iscsi/attach-attempts.ts";
import {
  type DeviceLink,
  deviceLink,
  deviceLinkText,
  linksFolder,
  matchingLink,
} from "../../../core/storage/iscsi/iscsi-device.ts";
import { iscsiFilePath, iscsiFileText } from "../../../core/storage/iscsi/iscsi-file.ts";
import { transportName } from "../../../core/storage/iscsi/iscsi-interface.ts";
import { portalHosts } from "../../../core/storage/iscsi/iscsi-sessions.ts";
import { deleteInterface, showInterface } from "../../../core/storage/iscsi/iscsiadm.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import { errorText } from "../../../lib/error-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { DiskVolumeDeps } from "../disk-volume.ts";
import { multipathOf } from "../multipath.ts";
import { cloneInterface } from "./clone-interface.ts";
import { type IscsiLogin, logIn } from "./log-in.ts";
import { readSessions } from "./read-sessions.ts";
import { runIscsiadm } from "./run-iscsiadm.ts";

const deviceLooks = 30;
const multipathLooks = 10;
const lookEveryMs = 1000;

export interface IscsiAttach extends IscsiLogin {
  /** Where the disk will be mounted or mapped. */
  readonly folder: string;
  readonly isBlock: boolean;
}

/** What the attempts of one attach share. */
interface Attach {
  readonly deps: DiskVolumeDeps;
  readonly request: IscsiLogin;
  readonly transport: string | undefined;
  /** Those of sessions that were there before. A portal without a device is logged in to at every attempt, as upstream does. */
  readonly hosts: ReadonlyMap<string, number>;
  readonly signal: AbortSignal;
}

/** Why a portal gave no device this time. */
type PortalFailure =
  | { readonly kind: "portal"; readonly message: string | undefined }
  | { readonly kind: "disk"; readonly message: string };

/** Logs in at every portal of the disk, waits for its devices, and answers the multipath above them or the first. */
export async function attachDisk(
  deps: DiskVolumeDeps,
  request: IscsiAttach,
  signal: AbortSignal,
): Promise<Result<string, StorageError>> {
  const { disk } = request.volume;
  const shown = await runIscsiadm(deps, showInterface(disk.initialInterface), signal);
  if (shown.failure !== undefined) return failed(shown.failure);
  if (disk.initiatorName !== "") {
    const cloned = await cloneInterface(deps, disk, signal);
    if (!cloned.ok) return failed(cloned.error);
  }
  const hosts = portalHosts(await readSessions(deps.devices, disk.iqn));
  const transport = transportName(shown.output);
  const paths = await attachPortals({ deps, request, transport, hosts, signal });
  if (!paths.ok) return paths;
  const device = await multipathOrFirst(deps, paths.value, disk.portals.length, signal);
  const recorded = await recordDisk(deps, request);
  return recorded.ok ? ok(device) : recorded;
}

/** The devices of the portals that have one, in the order of the portals. */
async function attachPortals(
  attach: Attach,
): Promise<Result<readonly [string, ...string[]], StorageError>> {
  const { deps, signal } = attach;
  const { disk } = attach.request.volume;
  const found = new Map<string, string>();
  let lastError = "<nil>";
  for (let attempt = 1; attempt <= maxAttachAttempts; attempt++) {
    for (const portal of disk.portals) {
      if (found.has(portal)) continue;
      const device = await attachPortal(attach, portal);
      if (device.ok) found.set(portal, device.value);
      else if (device.error.kind === "disk") return failed(device.error.message);
      else lastError = device.error.message ?? lastError;
    }
    if (found.size === 0) {
      await runIscsiadm(deps, deleteInterface(disk.interface), signal);
      return failed(`failed to get any path for iscsi disk, last err seen:\n${lastError}`);
    }
    const counts = { attempt, found: found.size, portals: disk.portals.length };
    if (isAttachDone(counts)) break;
  }
  if (lastError !== "<nil>") {
    deps.log.warn("iscsi disk is attached by some of its portals only", {
      iqn: disk.iqn,
      lun: disk.lun,
      portals: [...found.keys()],
      error: lastError,
    });
  }
  const [first = "", ...others] = found.values();
  return ok([first, ...others]);
}

async function attachPortal(
  attach: Attach,
  portal: string,
): Promise<Result<string, PortalFailure>> {
  const { deps, request, transport, signal } = attach;
  const { disk } = request.volume;
  let host = attach.hosts.get(portal);
  if (host === undefined) {
    const loggedIn = await logIn(deps, portal, request, signal);
    if (!loggedIn.ok) return err({ kind: "portal", message: loggedIn.error });
    host = portalHosts(await readSessions(deps.devices, disk.iqn)).get(portal);
    if (host === undefined) return err({ kind: "portal", message: undefined });
  }
  // Only this LUN: the channel and the target are always 0 for iSCSI.
  const scan = `/sys/class/scsi_host/host${host}/scan`;
  const scanned = await deps.devices.write(scan, `0 0 ${disk.lun}`, signal);
  if (!scanned.ok) return err({ kind: "disk", message: scanned.error });
  if (transport === undefined) {
    return err({ kind: "disk", message: `could not parse iface file for ${disk.interface}` });
  }
  const link = deviceLink(portal, disk, transport);
  const path = await waitForLink(deps, link, signal);
  if (path !== undefined) return ok(path);
  const message = `Timed out waiting for device at path ${deviceLinkText(link)} after ${deviceLooks}s`;
  return err({ kind: "portal", message });
}

async function waitForLink(
  { devices, clock }: DiskVolumeDeps,
  link: DeviceLink,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let look = 0; look < deviceLooks; look++) {
    if (look > 0) await clock.sleep(lookEveryMs, signal);
    if ("name" in link) {
      const path = `${linksFolder}/${link.name}`;
      if ((await devices.resolve(path)).ok) return path;
    } else {
      const name = matchingLink(link, (await devices.list(linksFolder)) ?? []);
      if (name !== undefined) return `${linksFolder}/${name}`;
    }
  }
  return undefined;
}

/** Writes iscsi.json for the detach. Below a mount it could not be seen, and is there from before the mount. */
async function recordDisk(
  { files, mounts }: DiskVolumeDeps,
  { volume: { disk }, folder, isBlock }: IscsiAttach,
): Promise<Result<void, StorageError>> {
  try {
    await files.ensureFolder(folder, 0o750);
    if (!isBlock && (await mounts.isMountPoint(folder))) return ok(undefined);
    await files.writeFile(iscsiFilePath(folder), iscsiFileText(disk), 0o644);
    return ok(undefined);
  } catch (error) {
    // The disk is attached: the detach has to be done whatever becomes of the pod.
    return err({ kind: "uncertain", message: errorText(error) });
  }
}

/** A disk with one portal is rarely below a multipath: that is not waited for. */
async function multipathOrFirst(
  { devices, clock }: DiskVolumeDeps,
  paths: readonly [string, ...string[]],
  portals: number,
  signal: AbortSignal,
): Promise<string> {
  const looks = portals > 1 ? multipathLooks : 1;
  for (let look = 0; look < looks; look++) {
    if (look > 0) await clock.sleep(lookEveryMs, signal);
    for (const path of paths) {
      const multipath = await multipathOf(devices, path);
      if (multipath !== undefined) return multipath;
    }
  }
  return paths[0];
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
