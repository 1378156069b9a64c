// `berth replay`: makes the decisions of a recording again and compares.
import { parseRecording, type RecordingOrigin } from "../core/record/recording.ts";
import { type Difference, findDifference } from "../core/record/replay.ts";
import { readRegularFile } from "../drivers/disk/read-regular-file.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { readProblem } from "./read-problem.ts";

const maxRecordingBytes = 256 * 1024 * 1024;

export interface Replay {
  readonly origin: RecordingOrigin;
  readonly count: number;
  /** The first one; undefined = everything is decided as it was. */
  readonly difference?: Difference | undefined;
}

/** A refusal says what is wrong with the file, and where. */
export function replayFile(path: string): Result<Replay, string> {
  let text: string;
  try {
    text = readRegularFile(path, maxRecordingBytes);
  } catch (error) {
    return err(readProblem(path, error));
  }
  const recording = parseRecording(text);
  if (!recording.ok) {
    const { line, message } = recording.error;
    return err(`${path}:${line}: ${message}`);
  }
  const { origin, decisions } = recording.value;
  return ok({ origin, count: decisions.length, difference: findDifference(decisions) });
}
