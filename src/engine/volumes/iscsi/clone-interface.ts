import type { IscsiDisk } from "../../../core/storage/iscsi/iscsi-disk.ts";
import { cloneRecords } from "../../../core/storage/iscsi/iscsi-interface.ts";
import {
  deleteInterface,
  newInterface,
  showInterface,
  updateInterface,
} from "../../../core/storage/iscsi/iscsiadm.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { DiskVolumeDeps } from "../disk-volume.ts";
import { runIscsiadm } from "./run-iscsiadm.ts";

/** iscsiadm's exit code for an interface that a session uses already. */
const sessionExists = 15;

/** Makes the interface of a disk with an initiator name of its own, as a copy of the one that the volume names. */
export async function cloneInterface(
  deps: DiskVolumeDeps,
  disk: IscsiDisk,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { initialInterface, interface: clone } = disk;
  if (initialInterface === clone) {
    return err(`iscsi: cannot clone iface with same name: ${initialInterface}`);
  }
  const shown = await runIscsiadm(deps, showInterface(initialInterface), signal);
  if (shown.failure !== undefined) {
    return err(`iscsi: failed to show iface records: ${shown.output} (${shown.failure})`);
  }
  const records = cloneRecords(shown.output, disk.initiatorName);
  if (!records.ok) {
    return err(`iscsi: failed to parse iface records: ${shown.output} (${records.error})`);
  }
  const made = await runIscsiadm(deps, newInterface(clone), signal);
  if (made.failure !== undefined && made.exitCode !== sessionExists) {
    return err(`iscsi: failed to create new iface: ${made.output} (${made.failure})`);
  }
  for (const [key, value] of records.value) {
    const updated = await runIscsiadm(deps, updateInterface(clone, key, value), signal);
    if (updated.failure === undefined) continue;
    await runIscsiadm(deps, deleteInterface(clone), signal);
    return err(
      `iscsi: failed to update iface records: ${made.output} (${updated.failure}). iface(${initialInterface}) will be used`,
    );
  }
  return ok(undefined);
}
