/** One line of /proc/PID/mountinfo. */
export interface MountEntry {
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

// Space, tab, newline and backslash are written as \040 and so on, byte by byte.
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 8)),
  );
}
