import { legacyLogSymlink } from "../../core/paths/log-paths.ts";
import { splitPath } from "../../lib/path.ts";
import { ContainerState } from "../../model/generated/cri.ts";
import type { RuntimeContainerId } from "../../model/ids.ts";
import { containerNameLabel, podNameLabel, podNamespaceLabel } from "../../model/labels.ts";
import { isNotFound } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";

export interface RemoveContainerDeps {
  readonly runtime: Pick<ContainerRuntime, "containerStatus" | "removeContainer">;
  readonly files: Pick<HostFiles, "removeFile" | "list">;
}

/**
 * Removes a stopped container, if it is still there; its logs go first unless `keepLogs`, so that none is left
 * behind that would never be found again.
 */
export async function removeContainer(
  deps: RemoveContainerDeps,
  containerId: RuntimeContainerId,
  options: { readonly keepLogs: boolean },
  signal: AbortSignal,
): Promise<void> {
  try {
    if (!options.keepLogs) await removeLogs(deps, containerId, signal);
    await deps.runtime.removeContainer(containerId, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Removes a container that was never started; whether it has not come to life in the meantime. */
export async function removeUnlessStarted(
  runtime: RemoveContainerDeps["runtime"],
  id: RuntimeContainerId,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const { status } = await runtime.containerStatus(id, signal);
    if (status?.state === ContainerState.CONTAINER_RUNNING) return false;
    if (status?.state !== ContainerState.CONTAINER_EXITED) {
      await runtime.removeContainer(id, signal);
    }
    return true;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

async function removeLogs(
  { runtime, files }: RemoveContainerDeps,
  containerId: RuntimeContainerId,
  signal: AbortSignal,
): Promise<void> {
  const { status } = await runtime.containerStatus(containerId, signal);
  const labels = status?.labels ?? {};
  const { folder, name: base } = splitPath(status?.logPath ?? "");
  if (folder !== "") {
    // Rotated logs carry the log's own name as a prefix.
    for (const name of await files.list(folder)) {
      if (name.startsWith(base)) await files.removeFile(`${folder}/${name}`);
    }
  }
  const pod = { name: labels[podNameLabel] ?? "", namespace: labels[podNamespaceLabel] ?? "" };
  await files.removeFile(legacyLogSymlink(pod, labels[containerNameLabel] ?? "", containerId));
}
