import type { IscsiVolume } from "../../../core/storage/iscsi/iscsi-disk.ts";
import {
  deleteDiscovery,
  deleteFailedNode,
  discover,
  login,
  newDiscovery,
  startManually,
  updateDiscovery,
  updateNode,
} from "../../../core/storage/iscsi/iscsiadm.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { DiskVolumeDeps } from "../disk-volume.ts";
import { runIscsiadm } from "./run-iscsiadm.ts";

/** The keys of a secret, which are those of iscsiadm. */
const discoveryKeys = [
  "discovery.sendtargets.auth.username",
  "discovery.sendtargets.auth.password",
  "discovery.sendtargets.auth.username_in",
  "discovery.sendtargets.auth.password_in",
] as const;

const sessionKeys = [
  "node.session.auth.username",
  "node.session.auth.password",
  "node.session.auth.username_in",
  "node.session.auth.password_in",
] as const;

/** A volume and the CHAP credentials of its secret, by iscsiadm's keys. */
export interface IscsiLogin {
  readonly volume: IscsiVolume;
  readonly credentials: ReadonlyMap<string, string>;
}

/** Discovers the target at a portal and logs in to it. */
export async function logIn(
  deps: DiskVolumeDeps,
  portal: string,
  request: IscsiLogin,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { disk } = request.volume;
  const run = (argv: readonly string[]) => runIscsiadm(deps, argv, signal);
  // A record that is there already is as good as a new one.
  await run(newDiscovery(portal, disk));
  const prepared = await prepareDiscovery(deps, portal, request, signal);
  if (!prepared.ok) {
    return err(`iscsi: failed to update discoverydb to portal ${portal} error: ${prepared.error}`);
  }
  const discovered = await run(discover(portal, disk));
  if (discovered.failure !== undefined) {
    await run(deleteDiscovery(portal, disk));
    return err(
      `iscsi: failed to sendtargets to portal ${portal} output: ${discovered.output}, err ${discovered.failure}`,
    );
  }
  const node = await prepareNode(deps, portal, request, signal);
  if (!node.ok) {
    return err(`iscsi: failed to update iscsi node to portal ${portal} error: ${node.error}`);
  }
  const loggedIn = await run(login(portal, disk));
  if (loggedIn.failure !== undefined) {
    await run(deleteFailedNode(portal, disk));
    return err(`iscsi: failed to attach disk: Error: ${loggedIn.output} (${loggedIn.failure})`);
  }
  const startup = await run(startManually(portal, disk.iqn));
  if (startup.failure !== undefined) {
    deps.log.warn("iscsi target logs in by itself when the machine boots", {
      portal,
      iqn: disk.iqn,
      error: startup.failure,
    });
  }
  return ok(undefined);
}

async function prepareDiscovery(
  deps: DiskVolumeDeps,
  portal: string,
  { volume: { disk, discoveryChap }, credentials }: IscsiLogin,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  if (!discoveryChap) return ok(undefined);
  const update = (key: string, value: string) =>
    runIscsiadm(deps, updateDiscovery(portal, disk, key, value), signal);
  const method = await update("discovery.sendtargets.auth.authmethod", "CHAP");
  if (method.failure !== undefined) {
    return err(`iscsi: failed to update discoverydb with CHAP, output: ${method.output}`);
  }
  for (const key of discoveryKeys) {
    const value = credentials.get(key) ?? "";
    if (value === "") continue;
    const { failure, output } = await update(key, value);
    if (failure !== undefined) {
      return err(`iscsi: failed to update discoverydb key "${key}" error: ${output}`);
    }
  }
  return ok(undefined);
}

async function prepareNode(
  deps: DiskVolumeDeps,
  portal: string,
  { volume: { disk, sessionChap }, credentials }: IscsiLogin,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const update = (key: string, value: string) =>
    runIscsiadm(deps, updateNode(portal, disk, key, value), signal);
  // The kernel is to see the LUN of this volume only: others may be deleted on the server at any time.
  const scan = await update("node.session.scan", "manual");
  if (scan.failure !== undefined) {
    deps.log.warn("iscsi login scans all luns of the target", {
      portal,
      iqn: disk.iqn,
      output: scan.output,
    });
  }
  if (!sessionChap) return ok(undefined);
  const method = await update("node.session.auth.authmethod", "CHAP");
  if (method.failure !== undefined) {
    return err(`iscsi: failed to update node with CHAP, output: ${method.output}`);
  }
  for (const key of sessionKeys) {
    const value = credentials.get(key) ?? "";
    if (value === "") continue;
    const { failure, output } = await update(key, value);
    if (failure !== undefined) {
      return err(`iscsi: failed to update node session key "${key}" error: ${output}`);
    }
  }
  return ok(undefined);
}
