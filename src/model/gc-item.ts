/** Something that nobody needs any more, and why. */
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
  /** Everything that nobody uses, as when the disk is full; else only what goes by itself. */
  readonly all: boolean;
}
