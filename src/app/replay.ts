// `berth replay`: makes the decisions of a recording again and compares.
import { readFile } from "node:fs/promises";
import { parseRecording, type RecordingOrigin } from "../core/record/recording.ts";
import { type Difference, findDifference } from "../core/record/replay.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { readProblem } from "./read-problem.ts";

export interface Replay {
  readonly origin: RecordingOrigin;
  readonly count: number;
  /** The first one; undefined = everything is decided as it was. */
  readonly difference?: Difference | undefined;
}

/** A refusal says what is wrong with the file, and where. */
export async function replayFile(path: string): Promise<Result<Replay, string>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
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
