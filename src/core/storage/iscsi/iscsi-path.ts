// What the folder of a disk says about it, for a detach or a reconstruction without iscsi.json.
import { err, ok, type Result } from "../../../lib/result.ts";
import type { StorageError } from "../storage-error.ts";

const lunMark = "-lun-";

/** The last part of the path: PORTAL-IQN-lun-LUN. */
export function diskFolderName(path: string): Result<string, StorageError> {
  const slash = path.lastIndexOf("/");
  if (slash < 0 || !path.includes(lunMark)) {
    return failed(`iscsi detach disk: malformatted mnt path: ${path}`);
  }
  return ok(path.slice(slash + 1));
}

export function portalAndIqn(
  name: string,
): Result<{ readonly portal: string; readonly iqn: string }, StorageError> {
  const dash = name.indexOf("-");
  if (dash < 0) return failed(`iscsi detach disk: no portal in ${name}`);
  const iqnStart = name.includes("iqn.") ? name.indexOf("iqn.") : name.indexOf("eui.");
  const iqnEnd = name.lastIndexOf(lunMark);
  if (iqnStart < 0 || iqnEnd < iqnStart) return failed(`iscsi detach disk: no iqn in ${name}`);
  return ok({ portal: name.slice(0, dash), iqn: name.slice(iqnStart, iqnEnd) });
}

/** The text after the first -lun-, up to a second one. */
export function lunOf(name: string): string | undefined {
  return name.split(lunMark)[1];
}

/** The name of the interface by its folder iface-NAME; undefined when there is none with something below it. */
export function interfaceOf(path: string): string | undefined {
  const parts = path.split("/");
  const last = parts.length - 1;
  for (let index = last; index > 0; index--) {
    const part = parts[index] ?? "";
    const hasBefore = index > 1 || parts[0] !== "";
    const hasAfter = index < last - 1 || (index === last - 1 && parts[last] !== "");
    if (part.startsWith(interfacePrefix) && part !== interfacePrefix && hasBefore && hasAfter) {
      return part.slice(interfacePrefix.length);
    }
  }
  return undefined;
}

const interfacePrefix = "iface-";

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
