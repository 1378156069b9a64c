/** What becomes of a setting: Berth acts on it, has no use for it, warns and ignores it, or refuses to start with it. */
export type Treatment = "acted" | "inert" | "warned" | "refused";

/** What becomes of one field of the configuration, or of one flag. */
export interface Support {
  readonly treatment: Treatment;
  /** What it does, or why it is not done. */
  readonly note: string;
}

export function acted(note: string): Support {
  return { treatment: "acted", note };
}

/** Any value is taken and changes nothing: a kubelet does nothing with it either, or it is about how a kubelet is built. */
export function inert(note: string): Support {
  return { treatment: "inert", note };
}

export function warned(note: string): Support {
  return { treatment: "warned", note };
}

export function refused(note: string): Support {
  return { treatment: "refused", note };
}
