/** What becomes of a setting: Berth acts on it, warns and ignores it, or refuses to start with it. */
export type Treatment = "acted" | "warned" | "refused";

/** What becomes of one field of the configuration, or of one flag. */
export interface Support {
  readonly treatment: Treatment;
  /** What it does, or why it is not done. */
  readonly note: string;
}

export function acted(note: string): Support {
  return { treatment: "acted", note };
}

export function warned(note: string): Support {
  return { treatment: "warned", note };
}

export function refused(note: string): Support {
  return { treatment: "refused", note };
}
