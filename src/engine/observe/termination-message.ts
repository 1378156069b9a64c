import { terminationMessageSource } from "../../core/observe/termination-message.ts";
import { podContainersDirectory } from "../../core/paths/data-paths.ts";
import { errorText } from "../../lib/error-text.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import type { ContainerStatus } from "../../model/generated/cri.ts";
import type { PodUid } from "../../model/ids.ts";
import { detectLogFormat, parseLogLine } from "../../model/log/log-line.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HostFiles } from "../../ports/host-files.ts";

const longestMessageBytes = 4096;
const longestLogMessageBytes = 2048;
const longestLogMessageLines = 80;
// A line of a log holds at most 16 KiB: the last whole lines in so much hold a whole message.
const logWindowBytes = 64 * 1024;

/** Reads the end of a file; undefined when it does not exist. */
export type ReadEnd = (path: string, maxBytes: number) => Promise<Uint8Array | undefined>;

export interface MessageFiles {
  readonly files: Pick<HostFiles, "readTail">;
  readonly foreignFiles: Pick<ForeignFiles, "readEnd">;
  readonly rootFolder: string;
  readonly podLogsRoot: string;
}

/** A pod can have its termination message in a file of any volume; such a one is foreign. */
export function endReaderOf(
  { files, foreignFiles, rootFolder, podLogsRoot }: MessageFiles,
  uid: PodUid,
  signal: AbortSignal,
): ReadEnd {
  const own = [podContainersDirectory(rootFolder, uid), podLogsRoot];
  return (path, maxBytes) =>
    own.some((folder) => path.startsWith(`${folder}/`))
      ? files.readTail(path, maxBytes)
      : foreignFiles.readEnd(path, maxBytes, signal);
}

/** An exited container's last words: its termination message file, or the end of its log where it asks for that. */
export async function readTerminationMessage(
  readEnd: ReadEnd,
  status: ContainerStatus,
): Promise<string> {
  const { filePath, logPath } = terminationMessageSource(status);
  if (filePath !== undefined) {
    try {
      const bytes = await readEnd(filePath, longestMessageBytes);
      if (bytes !== undefined && bytes.length > 0) return decodeUtf8(bytes);
    } catch (error) {
      return `Error on reading termination log ${filePath}: ${errorText(error)}`;
    }
  }
  return logPath === undefined ? "" : readEndOfLog(readEnd, logPath);
}

async function readEndOfLog(readEnd: ReadEnd, path: string): Promise<string> {
  try {
    const bytes = await readEnd(path, logWindowBytes);
    if (bytes === undefined) throw new Error(`${path} does not exist`);
    return endOfLog(bytes);
  } catch (error) {
    return `Error on reading termination message from logs: ${errorText(error)}`;
  }
}

/** What the container wrote in the last lines, without the time, stream and tag of each. */
function endOfLog(bytes: Uint8Array): string {
  const lines = splitLines(bytes);
  // A window full to the brim begins within a line.
  const whole = bytes.length === logWindowBytes ? lines.slice(1) : lines;
  const last = whole.slice(-longestLogMessageLines);
  const format = last[0] && detectLogFormat(last[0]);
  if (format === undefined) return "";
  const texts = last.map((line) => parseLogLine(format, line)?.bytes ?? new Uint8Array());
  const text = new Uint8Array(texts.flatMap((part) => [...part]));
  return decodeUtf8(text.subarray(Math.max(0, text.length - longestLogMessageBytes)));
}

/** Each with its newline. */
function splitLines(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  let start = 0;
  while (start < bytes.length) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline < 0 ? bytes.length : newline + 1;
    lines.push(bytes.subarray(start, end));
    start = end;
  }
  return lines;
}
