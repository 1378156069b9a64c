import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { join } from "node:path";

const parent = "/var/tmp";

/** A new folder that names the process that made it, so that a later run knows whether it is still needed. */
export function makeTestFolder(kind: string, folder: string = parent): string {
  return mkdtempSync(join(folder, `berth-${kind}-${process.pid}-`));
}

/** The folders of test processes that are no more. */
export function foldersOfKilledRuns(): readonly string[] {
  return readdirSync(parent)
    .filter((name) => {
      const [, pid] = /^berth-[a-z-]+-(\d+)-\w{6}$/.exec(name) ?? [];
      return pid !== undefined && !existsSync(`/proc/${pid}`);
    })
    .map((name) => join(parent, name));
}
