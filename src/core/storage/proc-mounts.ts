import { parseGoDecimal } from "../../lib/go-number.ts";
import { err, ok, type Result } from "../../lib/result.ts";

/** One line of /proc/mounts. */
export interface ProcMount {
  readonly device: string;
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
  readonly freq: number;
  readonly pass: number;
}

const fieldsPerLine = 6;

/** Reads /proc/mounts. */
export function parseProcMounts(text: string): Result<readonly ProcMount[], string> {
  const mounts: ProcMount[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const fields = line.split(/\s+/).filter((field) => field !== "");
    if (fields.length !== fieldsPerLine) {
      return err(`wrong number of fields (expected ${fieldsPerLine}, got ${fields.length})`);
    }
    const [device = "", path = "", type = "", options = "", freqText = "", passText = ""] = fields;
    const freq = parseGoDecimal(freqText);
    if (!freq.ok) return freq;
    const pass = parseGoDecimal(passText);
    if (!pass.ok) return pass;
    mounts.push({
      device,
      path,
      type,
      options: options.split(","),
      freq: Number(freq.value),
      pass: Number(pass.value),
    });
  }
  return ok(mounts);
}

/** Where else the device is mounted that is mounted at a path, by its name; also what the path itself is the device of. */
export function referencesByDevice(
  mounts: readonly Pick<ProcMount, "device" | "path">[],
  path: string,
): readonly string[] {
  const own = mounts.find((mount) => mount.path === path)?.device ?? "";
  return mounts
    .filter((mount) => mount.path !== path && [own, path].includes(mount.device))
    .map((mount) => mount.path);
}
