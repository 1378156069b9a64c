import type { PayloadPlan, PublishedPayload } from "../model/volume-payload.ts";
import type { VolumeOwnership } from "./foreign-files.ts";

/**
 * Volumes that show files which the agent writes. They are the agent's own: containers can read them only. All the same no
 * call follows a link below the folder it is given, and none crosses into another mount.
 */
export interface PayloadFiles {
  /** What the volume shows; undefined when nothing was ever published there. */
  readPayload(folder: string): Promise<PublishedPayload | undefined>;
  /** Writes beside what is there and makes it visible in one step. */
  publishPayload(
    folder: string,
    plan: PayloadPlan,
    ownership: VolumeOwnership | undefined,
  ): Promise<void>;
  makeFolders(folder: string, relativePaths: readonly string[]): Promise<void>;
}
