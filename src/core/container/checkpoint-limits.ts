import { sizeText } from "../../lib/size-text.ts";

/** Checkpoints may begin so often: a few at once, then one every ten seconds. */
export const checkpointBurst = 5;
export const secondsBetweenCheckpoints = 10;

const maxArchives = 100;
const maxTotalBytes = 10 * 2 ** 30;
/** A small disk has room for fewer, so that archives alone never bring the node under disk pressure. */
const maxShareOfDisk = 0.1;

interface HeldArchives {
  readonly folder: string;
  readonly count: number;
  readonly bytes: number;
  /** Of the disk that the folder is on; undefined = unknown. */
  readonly diskBytes?: number | undefined;
}

/** Why there is no room for one more archive. Nothing is ever deleted to make room: archives belong to the client that asked for them. */
export function checkpointRefusal(held: HeldArchives): { readonly message: string } | undefined {
  const { folder, count, bytes, diskBytes = Number.POSITIVE_INFINITY } = held;
  if (count >= maxArchives) {
    return {
      message: `${folder} holds ${count} archives, and ${maxArchives} is the limit: remove those that are no longer needed`,
    };
  }
  const limit = Math.min(maxTotalBytes, diskBytes * maxShareOfDisk);
  if (bytes < limit) return undefined;
  return {
    message: `the archives in ${folder} take ${sizeText(bytes)}, and ${sizeText(Math.floor(limit))} is the limit: remove those that are no longer needed`,
  };
}
