import type { MountEntry } from "../../lib/mount-info.ts";
import { joinPath } from "../../lib/path.ts";
import { isPathWithin } from "../../lib/path-within.ts";
import { err, ok, type Result } from "../../lib/result.ts";

/**
 * Where else the same files are mounted as at a path without links: a mount point or a folder. A file system and what of it is
 * mounted say whether they are the same; the source's name does not, as for a tmpfs.
 */
export function mountReferences(
  mounts: readonly MountEntry[],
  path: string,
): Result<readonly string[], string> {
  // Later mounts may lie over earlier ones.
  const own = mounts.findLast(({ mountPoint }) => isPathWithin(path, mountPoint));
  if (own === undefined) return err(`failed to get root path and major:minor for ${path}`);
  const below = path.startsWith(own.mountPoint) ? path.slice(own.mountPoint.length) : path;
  const root = joinPath(own.root, below);
  const same = mounts.filter(
    (mount) => mount.id !== own.id && mount.device === own.device && mount.root === root,
  );
  return ok(same.map(({ mountPoint }) => mountPoint));
}

/** What is mounted at a path, and how many mounts there are of it; "" when nothing is. */
export function deviceOfMount(
  mounts: readonly Pick<MountEntry, "source" | "mountPoint">[],
  path: string,
): { readonly device: string; readonly count: number } {
  const device = mounts.find(({ mountPoint }) => mountPoint === path)?.source ?? "";
  return { device, count: mounts.filter(({ source }) => source === device).length };
}
