// The names of a container's rotated logs: 0.log.20260101-000000, and the same with .gz once compressed.

const compressedSuffix = ".gz";
const temporarySuffix = ".tmp";

/** The rotated logs of one log file, grouped by whether they still hold anything. */
export interface RotatedLogs {
  /** Oldest first. */
  readonly inUse: readonly string[];
  /** Left by a rotation that was cut short: half written, or compressed already. */
  readonly unused: readonly string[];
}

/** Picks the rotated logs of `logName` out of the names in its folder. */
export function findRotatedLogs(names: readonly string[], logName: string): RotatedLogs {
  const rotated = names.filter((name) => name.startsWith(`${logName}.`)).toSorted(byBytes);
  const present = new Set(rotated);
  const isInUse = (name: string): boolean =>
    !name.endsWith(temporarySuffix) && (isCompressed(name) || !present.has(compressedName(name)));
  return {
    inUse: rotated.filter(isInUse),
    unused: rotated.filter((name) => !isInUse(name)),
  };
}

/** The name that a log gets when it is rotated at `timestamp`, an RFC 3339 time in UTC. */
export function rotatedName(logName: string, timestamp: string): string {
  const digits = timestamp.slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
  return `${logName}.${digits}`;
}

export function isCompressed(name: string): boolean {
  return name.endsWith(compressedSuffix);
}

export function compressedName(name: string): string {
  return `${name}${compressedSuffix}`;
}

/** Where a compressed log is written until it is whole. */
export function temporaryName(name: string): string {
  return `${name}${temporarySuffix}`;
}

/** A rotated log's name whether it was compressed since or not. */
export function plainName(name: string): string {
  return isCompressed(name) ? name.slice(0, -compressedSuffix.length) : name;
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
