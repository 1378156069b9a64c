import {
  podDirectory,
  podPluginsDirectory,
  podsDirectory,
  podVolumesDirectory,
} from "../../../core/paths/data-paths.ts";
import { podLogsDirectory, podUidOfLogsDirectory } from "../../../core/paths/log-paths.ts";
import { beginAll } from "../../../lib/begin-all.ts";
import { errorText } from "../../../lib/error-text.ts";
import { shareReads } from "../../../lib/share-reads.ts";
import { type PodUid, podUid } from "../../../model/ids.ts";
import type { ForeignFiles } from "../../../ports/foreign-files.ts";
import type { HostFiles } from "../../../ports/host-files.ts";
import type { PodEvents } from "../../../ports/pod-events.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodSyncError } from "../pod-syncer.ts";
import type { PodTable } from "../pod-table.ts";

export interface FoldersStageDeps {
  readonly table: PodTable;
  readonly files: HostFiles;
  readonly foreignFiles: Pick<ForeignFiles, "removeTree">;
  /** The agent's data folder, laid out as a kubelet's. */
  readonly rootFolder: string;
  readonly podLogsRoot: string;
  readonly events: PodEvents;
}

/** The pod's data folder, and the folder of its logs, which the runtime makes. */
export function foldersStage(deps: FoldersStageDeps): PodStage {
  const { files, foreignFiles, rootFolder, podLogsRoot, events } = deps;
  const logs = deps.table.writer("logs");
  const listLogFolders = newLogFolders(files, podLogsRoot);
  return {
    name: "folders",
    prepare: async ({ pod }) => {
      const { uid } = pod.metadata;
      logs.set(uid, podLogsDirectory(podLogsRoot, pod.metadata));
      try {
        await files.ensureFolder(podDirectory(rootFolder, uid), 0o750);
        await beginAll(
          () => files.ensureFolder(podVolumesDirectory(rootFolder, uid), 0o750),
          () => files.ensureFolder(podPluginsDirectory(rootFolder, uid), 0o750),
        );
      } catch (error) {
        const message = `error making pod data directories: ${errorText(error)}`;
        events.record(pod, { type: "Warning", reason: "FailedToMakePodDataDirectories", message });
        throw new PodSyncError(message, undefined, { cause: error });
      }
    },
    remove: async (uid, signal) => {
      await foreignFiles.removeTree(podDirectory(rootFolder, uid), signal);
      const known = logs.get(uid);
      // Of a pod that was never prepared only the folder itself shows whose it is.
      const found =
        known === undefined
          ? ((await listLogFolders()).get(uid) ?? []).map((name) => `${podLogsRoot}/${name}`)
          : [known];
      for (const folder of found) await foreignFiles.removeTree(folder, signal);
      logs.set(uid, undefined);
    },
    listFound: async () => [
      ...(await files.list(podsDirectory(rootFolder))).map(podUid),
      ...(await listLogFolders()).keys(),
    ],
  };
}

/** The names of all pods' log folders by the UID in them: many removals at once list the folders a few times, not once each. */
function newLogFolders(
  files: Pick<HostFiles, "list">,
  podLogsRoot: string,
): () => Promise<ReadonlyMap<PodUid, readonly string[]>> {
  return shareReads(async () => {
    const byUid = new Map<PodUid, string[]>();
    for (const name of await files.list(podLogsRoot)) {
      const uid = podUidOfLogsDirectory(name);
      const names = byUid.get(uid);
      if (names === undefined) byUid.set(uid, [name]);
      else names.push(name);
    }
    return byUid;
  });
}
