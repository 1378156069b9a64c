import { mountReferences } from "../../core/storage/mount-references.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Mounts } from "../../ports/mounts.ts";

export interface MountPointDeps {
  readonly files: HostFiles;
  readonly mounts: Mounts;
}

/**
 * Unmounts what is mounted at a path of the agent's own, and removes the folder or file below it. What is mounted is not
 * looked at: its server may have gone. Nothing there is fine.
 */
export async function cleanUpMountPoint(
  deps: MountPointDeps,
  path: string,
  options: { readonly forceAfterMs?: number },
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { mounts } = deps;
  const isMounted = await mounts.isMountPoint(path);
  if (!isMounted && !(await exists(deps, path))) return ok(undefined);
  const isIgnored = await mounts.ignoresUnmounted(signal);
  if (isMounted || isIgnored) {
    const unmounted = await mounts.unmountVolume(path, options, signal);
    if (!unmounted.ok) return unmounted;
    if (!isIgnored && (await mounts.isMountPoint(path))) {
      return err(`failed to cleanup mount point ${path}`);
    }
  }
  return await removeEntry(deps, path);
}

/** What was made for a mount that failed: unmounted if half of it succeeded, and removed. Errors are for the next attempt. */
export async function undoMount(
  deps: MountPointDeps,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const { mounts } = deps;
  if (await mounts.isMountPoint(path)) {
    const unmounted = await mounts.unmountVolume(path, {}, signal);
    if (!unmounted.ok || (await mounts.isMountPoint(path))) return;
  }
  await removeEntry(deps, path);
}

/** Where else the files at a path of the node are mounted. */
export async function findMountReferences(
  { foreignFiles, mounts }: { readonly foreignFiles: ForeignFiles; readonly mounts: Mounts },
  path: string,
  signal: AbortSignal,
): Promise<Result<readonly string[], string>> {
  const real = await foreignFiles.realPath(path, signal);
  return real === undefined ? ok([]) : mountReferences(await mounts.list(), real);
}

async function removeEntry({ files }: MountPointDeps, path: string): Promise<Result<void, string>> {
  try {
    return ok(await files.removeEntry(path));
  } catch (error) {
    return err(errorText(error));
  }
}

async function exists({ files }: MountPointDeps, path: string): Promise<boolean> {
  const slash = path.lastIndexOf("/");
  return (await files.list(path.slice(0, slash))).includes(path.slice(slash + 1));
}
