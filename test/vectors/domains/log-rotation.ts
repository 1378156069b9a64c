import { removeContainer } from "../../../src/engine/execute/remove-container.ts";
import { rotateIfFull } from "../../../src/engine/node/log-rotator.ts";
import { parseTime } from "../../../src/lib/time.ts";
import { runtimeContainerId } from "../../../src/model/ids.ts";
import { findRotatedLogs } from "../../../src/model/log/rotated-logs.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly files: readonly { readonly name: string; readonly size: number }[];
  readonly logFile: string;
  readonly maxFiles: number;
  readonly maxSize: number;
  readonly now: string;
  readonly reopenError?: unknown;
}

type FileEncoding = { readonly size: number } | { readonly gunzippedSize: number };

const folder = "/logs";
const signal: AbortSignal = new AbortController().signal;

export const logRotation: VectorDomain = vectorDomain<Input>("log-rotation", run);

async function run(input: Input): Promise<unknown> {
  const files = new Map<string, FileEncoding>();
  for (const { name, size } of input.files) files.set(name, { size });
  const logPath = `${folder}/${input.logFile}`;
  const allLogs = (): readonly string[] => [
    ...findRotatedLogs([...files.keys()], input.logFile).inUse,
    input.logFile,
  ];
  const allFiles = (): unknown =>
    [...files].map(([name, file]) => ({ name, ...file })).toSorted((a, b) => order(a.name, b.name));
  const runtime = {
    listContainers: async () => [],
    containerStatus: async () => ({ status: { logPath } }),
    removeContainer: async () => undefined,
    reopenContainerLog: async () => {
      if (input.reopenError) throw new Error("cannot reopen");
      files.set(input.logFile, { size: 0 });
    },
  };
  const nameOf = (path: string): string => path.slice(folder.length + 1);
  const settings = {
    maxSizeBytes: input.maxSize,
    maxFiles: input.maxFiles,
    intervalMs: 10_000,
    workers: 1,
  };
  const allLogsBefore = allLogs();
  const logFiles = {
    list: async () => [...files.keys()],
    sizeBytes: async (path: string) => sizeOf(files.get(nameOf(path))),
    rename: async (from: string, to: string) => {
      const file = files.get(nameOf(from));
      if (file === undefined) throw new Error(`there is no ${from}`);
      files.delete(nameOf(from));
      files.set(nameOf(to), file);
    },
    remove: async (path: string) => void files.delete(nameOf(path)),
    compress: async (path: string, beside: string) =>
      void files.set(nameOf(beside), { gunzippedSize: sizeOf(files.get(nameOf(path))) ?? 0 }),
  };
  const clock = {
    nowMs: () => parseTime(input.now) ?? 0,
    monotonicMs: () => 0,
    startTimer: () => ({ stop: () => undefined }),
    sleep: async () => undefined,
  };
  const container = { containerId: runtimeContainerId("c"), logPath };
  await rotateIfFull({ runtime, files: logFiles, clock, settings }, container, signal).catch(
    () => undefined,
  );
  const allLogsAfter = allLogs();
  const filesAfter = allFiles();
  const remaining = { list: logFiles.list, removeFile: logFiles.remove };
  await removeContainer(
    { runtime, files: remaining },
    runtimeContainerId("c"),
    { keepLogs: false },
    signal,
  );
  return {
    allLogsBefore,
    allLogsAfter,
    filesAfter,
    filesAfterClean: [...files.keys()].toSorted(order),
  };
}

function sizeOf(file: FileEncoding | undefined): number | undefined {
  if (file === undefined) return undefined;
  return "size" in file ? file.size : file.gunzippedSize;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
