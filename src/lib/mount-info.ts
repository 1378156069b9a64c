/** One line of /proc/PID/mountinfo. */
export interface MountEntry {
  /** Of this mount alone: one that is made later at the same place has another. */
  readonly id: string;
  readonly mountPoint: string;
  readonly fileSystem: string;
  /** Mounts below it appear in the mount namespaces that were made from this one, and the other way round. */
  readonly isShared: boolean;
}

/** Reads mountinfo: in the order of mounting. */
export function parseMountInfo(text: string): readonly MountEntry[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const fields = line.split(" ");
      const separator = fields.indexOf("-", 6);
      return {
        id: fields[0] ?? "",
        mountPoint: unescapeOctal(fields[4] ?? ""),
        fileSystem: fields[separator + 1] ?? "",
        isShared: fields.slice(6, separator).some((field) => field.startsWith("shared:")),
      };
    });
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
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 8)),
  );
}
