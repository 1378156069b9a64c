/** A file that a volume shows to containers. */
export interface PayloadFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** Who owns it; the agent's own user unless given. */
  readonly ownerUid?: number | undefined;
}

/** The files of a volume by path below it. */
export type Payload = ReadonlyMap<string, PayloadFile>;

/** What a volume shows at the moment. */
export interface PublishedPayload {
  /** Every path: a file with its content; anything else, and a file too large to be one of ours, without. */
  readonly entries: ReadonlyMap<string, Uint8Array | undefined>;
}

/** How to make a volume show a payload. */
export interface PayloadPlan {
  /** The complete new content, by clean path; undefined when the present one stays. */
  readonly content: Payload | undefined;
  /** The names that containers see, with who owns them. */
  readonly links: ReadonlyMap<string, number | undefined>;
  /** The names that containers see no longer. */
  readonly removedNames: readonly string[];
}
