import { err, ok, type Result } from "../../lib/result.ts";
import type { ContainerImage } from "../../model/generated/kubernetes.ts";

const maxNames = 5;

export interface StoredImage {
  readonly repoDigests: readonly string[];
  readonly repoTags: readonly string[];
  readonly sizeBytes: number;
}

/** The images that a node reports, largest first as listed; a limit below zero means no limit. */
export function nodeImages(
  listed: Result<readonly StoredImage[], string>,
  limit: number,
): Result<readonly ContainerImage[], string> {
  if (!listed.ok) return err(`error getting image list: ${listed.error}`);
  const reported = listed.value.slice(0, limit < 0 ? undefined : limit);
  return ok(
    reported.map(({ repoDigests, repoTags, sizeBytes }) => ({
      names: [...repoDigests, ...repoTags].slice(0, maxNames),
      sizeBytes,
    })),
  );
}
