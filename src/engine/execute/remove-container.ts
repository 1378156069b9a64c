import { legacyLogSymlink } from "../../core/paths/log-paths.ts";
import { containerNameLabel, podNameLabel, podNamespaceLabel } from "../../model/labels.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";

export interface RemoveContainerDeps {
  readonly runtime: Pick<ContainerRuntime, "containerStatus" | "removeContainer">;
  readonly files: Pick<HostFiles, "removeFile" | "list">;
}

/** Removes a stopped container; its logs go with it unless `keepLogs`. */
export async function removeContainer(
  { runtime, files }: RemoveContainerDeps,
  containerId: string,
  options: { readonly keepLogs: boolean },
  signal: AbortSignal,
): Promise<void> {
  if (!options.keepLogs) {
    const { status } = await runtime.containerStatus(containerId, signal);
    const labels = status?.labels ?? {};
    if (status?.logPath !== undefined && status.logPath !== "") {
      await removeLogs(files, status.logPath);
    }
    const pod = {
      name: labels[podNameLabel] ?? "",
      namespace: labels[podNamespaceLabel] ?? "",
    };
    await files.removeFile(legacyLogSymlink(pod, labels[containerNameLabel] ?? "", containerId));
  }
  await runtime.removeContainer(containerId, signal);
}

// Rotated logs carry the log's own name as a prefix.
async function removeLogs(
  files: Pick<HostFiles, "removeFile" | "list">,
  path: string,
): Promise<void> {
  const slash = path.lastIndexOf("/");
  const folder = path.slice(0, slash);
  const base = path.slice(slash + 1);
  for (const name of await files.list(folder)) {
    if (name.startsWith(base)) await files.removeFile(`${folder}/${name}`);
  }
}
