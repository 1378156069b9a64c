/** Something that is no longer needed, and why. */
export interface GcItem {
  readonly kind: "container" | "sandbox" | "image" | "folder" | "logs";
  /** The runtime's id, or a path. */
  readonly id: string;
  readonly name: string;
  readonly because: string;
  /** Undefined when it is not known. */
  readonly bytes?: number | undefined;
}

export interface GcOptions {
  /** Everything unused, as when the disk is full; else only what goes by policy. */
  readonly all: boolean;
}
