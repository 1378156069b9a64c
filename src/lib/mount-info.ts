import { parseGoDecimal } from "./go-number.ts";

/** One line of /proc/PID/mountinfo. */
export interface MountEntry {
  /** Of this mount alone: one that is made later at the same place has another. */
  readonly id: string;
  readonly parentId: string;
  /** The file system's device number, major:minor. */
  readonly device: string;
  /** What of the file system is mounted: "/", or the folder or file that was bound. */
  readonly root: string;
  readonly mountPoint: string;
  /** Of this mount, separated by commas. */
  readonly options: string;
  /** Such as shared:1 and master:2. */
  readonly optionalFields: readonly string[];
  readonly fileSystem: string;
  /** A device, a server, or any name that was given. */
  readonly source: string;
  /** Of the file system, separated by commas. */
  readonly superOptions: string;
}

const fewestFields = 10;

/** Reads mountinfo: in the order of mounting. Throws at a line that no kernel writes. */
export function parseMountInfo(text: string): readonly MountEntry[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map(parseLine);
}

/** A node has several mounts for each container: most lines are about others, and are not worth parsing. */
export function linesWithPath(text: string, path: string): string {
  // What the kernel writes as octal is not found as it is.
  if (/[\s\\#]/.test(path)) return text;
  const lines = text.split("\n").filter((line) => line.includes(path));
  return lines.join("\n");
}

/** The lines of the mounts that a path can be on: those whose mount point it begins with. */
export function linesAbovePath(text: string, path: string): string {
  const lines = text.split("\n").filter((line) => {
    const mountPoint = line.split(" ", 5)[4] ?? "";
    return mountPoint.includes("\\") || path.startsWith(mountPoint);
  });
  return lines.join("\n");
}

function parseLine(line: string): MountEntry {
  const fields = line.split(" ");
  if (fields.length < fewestFields) {
    throw new Error(
      `wrong number of fields in (expected at least ${fewestFields}, got ${fields.length}): ${line}`,
    );
  }
  const [id = "", parentId = "", device = "", root = "", mountPoint = "", options = ""] = fields;
  for (const number of [id, parentId]) checkNumber(number, "");
  checkDevice(line, device);
  const separator = fields.indexOf("-", 6);
  const end = separator === -1 ? fields.length : separator;
  const rest = fields.slice(end + 1);
  if (rest.length < 3) {
    throw new Error(`expect 3 fields in ${line}, got ${fields.length - end - 1}`);
  }
  const [fileSystem = "", source = "", superOptions = ""] = rest;
  return {
    id,
    parentId,
    device,
    root: unescapeOctal(root),
    mountPoint: unescapeOctal(mountPoint),
    options,
    optionalFields: fields.slice(6, end),
    fileSystem,
    source: unescapeOctal(source),
    superOptions,
  };
}

function checkDevice(line: string, device: string): void {
  const numbers = device.split(":");
  if (numbers.length !== 2) {
    throw new Error(`parsing '${line}' failed: unexpected minor:major pair [${numbers.join(" ")}]`);
  }
  const [major = "", minor = ""] = numbers;
  checkNumber(major, `parsing '${major}' failed: unable to parse major device id, err:`);
  checkNumber(minor, `parsing '${minor}' failed: unable to parse minor device id, err:`);
}

function checkNumber(text: string, problem: string): void {
  if (/^\d{1,15}$/.test(text)) return;
  const parsed = parseGoDecimal(text);
  if (!parsed.ok) throw new Error(`${problem}${parsed.error}`);
}

/** The options of a mount one by one; a comma inside of double quotes does not separate. */
export function splitMountOptions(text: string): readonly string[] {
  return text.match(/(?:[^,"]|"[^"]*(?:"|$))+/g) ?? [];
}

/** Whether mounts below it appear in the mount namespaces that were made from this one, and the other way round. */
export function isSharedMount({ optionalFields }: MountEntry): boolean {
  return optionalFields.some((field) => field.startsWith("shared:"));
}

/** The mount points at or below a folder, in the order in which they can be unmounted. */
export function mountPointsBelow(mounts: readonly MountEntry[], folder: string): readonly string[] {
  return mounts
    .map(({ mountPoint }) => mountPoint)
    .filter((path) => path === folder || path.startsWith(`${folder}/`))
    .toReversed();
}

/** The mount that a path is on: of those with the longest mount point the one on top. */
export function findMountOf(mounts: readonly MountEntry[], path: string): MountEntry | undefined {
  let found: MountEntry | undefined;
  for (const mount of mounts) {
    const { mountPoint } = mount;
    const below = mountPoint.endsWith("/") ? mountPoint : `${mountPoint}/`;
    const holds = path === mountPoint || path.startsWith(below);
    if (holds && mountPoint.length >= (found?.mountPoint.length ?? 0)) found = mount;
  }
  return found;
}

// Space, tab, newline and backslash are written as \040 and so on, byte by byte.
function unescapeOctal(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 8)),
  );
}
