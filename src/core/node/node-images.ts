import { err, ok, type Result } from "../../lib/result.ts";
import type { ContainerImage } from "../../model/generated/kubernetes.ts";

const maxNames = 5;

export interface StoredImage {
  readonly repoDigests: readonly string[];
  readonly repoTags: readonly string[];
  readonly sizeBytes: number;
}

/** The images that a node tells of, largest first as listed; a limit below zero is none. */
export function nodeImages(
  listed: Result<readonly StoredImage[], string>,
  limit: number,
): Result<readonly ContainerImage[], string> {
  if (!listed.ok) return err(`error getting image list: ${listed.error}`);
  const told = listed.value.slice(0, limit < 0 ? undefined : limit);
  return ok(
    told.map(({ repoDigests, repoTags, sizeBytes }) => ({
      names: [...repoDigests, ...repoTags].slice(0, maxNames),
      sizeBytes,
    })),
  );
}
