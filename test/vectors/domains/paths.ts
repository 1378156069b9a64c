import {
  containerLogPath,
  containerLogsDirectory,
  legacyLogSymlink,
  nextRestartCountByLogs,
  podLogsDirectory,
  podUidOfLogsDirectory,
} from "../../../src/core/paths/log-paths.ts";
import { podUid } from "../../../src/model/ids.ts";
import { podFullName } from "../../../src/model/pod.ts";
import { buildPod } from "../../kit/pods.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly containerID: string;
  readonly containerName: string;
  readonly logDirFiles: readonly string[] | null;
  readonly namespace: string;
  readonly podLogsDirectory: string;
  readonly podName: string;
  readonly podUID: string;
  readonly restartCount: number;
}

export const paths: VectorDomain = vectorDomain<Input>("paths", (input) => {
  const metadata = { namespace: input.namespace, name: input.podName, uid: podUid(input.podUID) };
  const podLogDir = podLogsDirectory(input.podLogsDirectory, metadata);
  return {
    podLogDir,
    containerLogDir: containerLogsDirectory(input.podLogsDirectory, metadata, input.containerName),
    containerLogPath: containerLogPath(input.containerName, input.restartCount),
    legacyLogSymlink: legacyLogSymlink(metadata, input.containerName, input.containerID),
    podFullName: podFullName(buildPod({ metadata })),
    uidParsedFromDir: podUidOfLogsDirectory(podLogDir.slice(podLogDir.lastIndexOf("/") + 1)),
    nextRestartByLogs: nextRestartCountByLogs(input.logDirFiles ?? []),
  };
});
