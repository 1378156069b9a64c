// The language of scripts: attempts separated by ";", each of clauses separated by ",".
import { parseDuration } from "../../lib/duration.ts";
import { err, ok, type Result } from "../../lib/result.ts";

/** One run of a container. */
export interface RunScript {
  /** As it was written. */
  readonly text: string;
  /** Undefined = until it is stopped. */
  readonly endsAfterMs?: number | undefined;
  readonly exitCode: number;
  readonly isOutOfMemory: boolean;
  /** What the stop signal does. */
  readonly onStop: "ignore" | { readonly afterMs: number; readonly exitCode: number };
}

/** One try of something that takes a while and may fail. */
export interface Deed {
  readonly takesMs: number;
  readonly fails: boolean;
}

/** What a probe finds for a while. */
export interface ProbePhase {
  readonly finds: "ok" | "fail" | "hang";
  /** Infinity in the last one. */
  readonly lastsMs: number;
}

const outOfMemoryExitCode = 137;
/** 128 + SIGTERM: the process does not handle the signal. */
const terminatedExitCode = 143;

const runWords =
  "run [DURATION], exit CODE, oom, on TERM ignore, on TERM exit CODE [in DURATION]; as in " +
  '"run 5s, exit 1" or "run, on TERM exit 0 in 3s"';
const deedWords = 'take DURATION, fail, ok; as in "take 3s, fail"';
const phaseWords = 'ok [DURATION], fail [DURATION], hang [DURATION]; as in "ok 30s, fail"';

export function parseRuns(text: string): Result<readonly RunScript[], string> {
  return parseAttempts(text, runWords, parseRun);
}

export function parseDeeds(text: string): Result<readonly Deed[], string> {
  return parseAttempts(text, deedWords, parseDeed);
}

export function parsePhases(text: string): Result<readonly (readonly ProbePhase[])[], string> {
  return parseAttempts(text, phaseWords, parseProbe);
}

function parseAttempts<T>(
  text: string,
  allowed: string,
  parse: (clauses: readonly string[]) => Result<T, string>,
): Result<readonly T[], string> {
  const attempts: T[] = [];
  for (const attempt of text.split(";")) {
    const clauses = attempt.split(",").map((clause) => clause.trim().replaceAll(/\s+/g, " "));
    const parsed = parse(clauses);
    if (!parsed.ok) return err(`${parsed.error}; allowed is ${allowed}`);
    attempts.push(parsed.value);
  }
  return ok(attempts);
}

function parseRun(clauses: readonly string[]): Result<RunScript, string> {
  let runsMs: number | undefined;
  let end: Pick<RunScript, "exitCode" | "isOutOfMemory"> | undefined;
  let onStop: RunScript["onStop"] = { afterMs: 0, exitCode: terminatedExitCode };
  let runs = false;
  for (const clause of clauses) {
    const [, duration] = /^run(?: (\S+))?$/.exec(clause) ?? [];
    const [, exit] = /^exit (\d+)$/.exec(clause) ?? [];
    const [, reaction, stopExit, delay = "0s"] =
      /^on TERM (ignore|exit (\d+)(?: in (\S+))?)$/.exec(clause) ?? [];
    if (clause === "run" || duration !== undefined) {
      runs = true;
      const lasts = duration === undefined ? undefined : parseLength(duration);
      if (lasts?.ok === false) return lasts;
      runsMs = lasts?.value;
    } else if (exit !== undefined) {
      if (Number(exit) > 255) return err(noExitCode(exit));
      end = { exitCode: Number(exit), isOutOfMemory: false };
    } else if (clause === "oom") {
      end = { exitCode: outOfMemoryExitCode, isOutOfMemory: true };
    } else if (reaction === "ignore") {
      onStop = "ignore";
    } else if (stopExit !== undefined) {
      const after = parseLength(delay);
      if (!after.ok) return after;
      if (Number(stopExit) > 255) return err(noExitCode(stopExit));
      onStop = { afterMs: after.value, exitCode: Number(stopExit) };
    } else {
      return err(`"${clause}" is not understood`);
    }
  }
  if (runs && runsMs === undefined && end !== undefined) {
    return err('"run" without a duration never ends by itself: say how long, as in "run 5s"');
  }
  const endsAfterMs = runsMs ?? (end === undefined ? undefined : 0);
  const text = clauses.join(", ");
  return ok({ text, endsAfterMs, onStop, ...(end ?? { exitCode: 0, isOutOfMemory: false }) });
}

function parseDeed(clauses: readonly string[]): Result<Deed, string> {
  let takesMs = 0;
  let fails = false;
  for (const clause of clauses) {
    const [, duration] = /^take (\S+)$/.exec(clause) ?? [];
    if (duration !== undefined) {
      const takes = parseLength(duration);
      if (!takes.ok) return takes;
      takesMs = takes.value;
    } else if (clause === "fail") {
      fails = true;
    } else if (clause !== "ok") {
      return err(`"${clause}" is not understood`);
    }
  }
  return ok({ takesMs, fails });
}

function parseProbe(clauses: readonly string[]): Result<readonly ProbePhase[], string> {
  const phases: ProbePhase[] = [];
  for (const [index, clause] of clauses.entries()) {
    const [, word, duration] = /^(ok|fail|hang)(?: (\S+))?$/.exec(clause) ?? [];
    const finds = (["ok", "fail", "hang"] as const).find((one) => one === word);
    if (finds === undefined) return err(`"${clause}" is not understood`);
    const isLast = index === clauses.length - 1;
    if (isLast !== (duration === undefined)) {
      return err(
        isLast
          ? `"${clause}" comes last and lasts: it takes no duration`
          : `"${clause}" needs a duration: another one follows`,
      );
    }
    const lasts = isLast ? ok(Number.POSITIVE_INFINITY) : parseLength(duration ?? "");
    if (!lasts.ok) return lasts;
    phases.push({ finds, lastsMs: lasts.value });
  }
  return ok(phases);
}

/** Milliseconds that something in a script lasts. */
function parseLength(text: string): Result<number, string> {
  const duration = parseDuration(text);
  if (duration.ok && duration.value >= 0) return duration;
  return err(`"${text}" is not a duration such as 500ms, 5s or 2m`);
}

function noExitCode(text: string): string {
  return `"${text}" is not an exit code from 0 to 255`;
}
