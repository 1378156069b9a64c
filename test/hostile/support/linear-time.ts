import { createContext, Script } from "node:vm";

/** Where text from outside comes in. */
export interface Entry {
  readonly name: string;
  readonly run: (text: string) => unknown;
  /** Hostile texts of about that many characters, beside the general ones. */
  readonly texts?: readonly HostileText[];
  /** Another entry reads the same text first, so that nonsense gets no further than there. */
  readonly isSecond?: boolean;
}

type HostileText = (length: number) => string;

const givenUpMs = 10_000;
const firstLength = 8 * 1024;
// Of texts for every entry, which repeat a character or two, and of an entry's own, which repeat more.
const glanceLength = 32 * 1024;
const ownGlanceLength = 128 * 1024;
const lastLength = 1024 * 1024;
// Below it a measurement is mostly noise; what is as fast at the glance cannot be quadratic: that would be 10^9 steps.
const shortMs = 3;
const glanceMs = 5;
const longMs = 1500;
// As fast as this no text is a danger, up to the longest that is let in; collecting garbage alone may double it.
const harmlessMsPerCharacter = 0.0005;
/** How much more time a text of twice the length may take. */
const mostGrowth = 3;

const characters = Array.from("a0 /,[{($.-=%\\\"'\n\t&*_~:;<@#+!|?^\u00e9");
const pairs =
  '$( $$ a, a= =a, 1. 0_ %2f ../ a. a- a/ a: [\' (a 1h 1s *a \ud83d\ude00 "" {} a=b& ::'.split(" ");
const units = [...characters, ...pairs, "- ", "a: b\n", ", ", " = ", "\r\n", "a b "];
const tails = ["", "\u0000"];

const general = units.flatMap((unit) =>
  tails.map(
    (tail) =>
      (length: number): string =>
        unit.repeat(Math.ceil(length / unit.length)) + tail,
  ),
);

/** The first text that takes an entry more than linear time, as a sentence. */
export function superLinear(entry: Entry): string | undefined {
  for (const text of entry.isSecond === true ? [] : general) {
    const problem = judge(entry, text, glanceLength);
    if (problem !== undefined) return problem;
  }
  for (const text of entry.texts ?? []) {
    const problem = judge(entry, text, ownGlanceLength);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function judge(entry: Entry, text: HostileText, glance: number): string | undefined {
  const shown = JSON.stringify(text(12).slice(0, 60));
  try {
    // A short one first: an expression that takes exponential time would not end with any other.
    measure(entry, text(64), 1);
    const shortTime = Math.max(measure(entry, text(glance / 4), 2), 1);
    const time = measure(entry, text(glance), 1);
    // Two doublings in one step: most texts are done with here.
    if (time < glanceMs || time <= shortTime * mostGrowth ** 2) return undefined;
    const growth = steepGrowth((length, runs) => measure(entry, text(length), runs));
    return growth === undefined ? undefined : `${entry.name} of ${shown}...: ${growth}`;
  } catch (error) {
    if (!(error instanceof GivenUpError)) throw error;
    return `${entry.name} of ${shown}...: does not end`;
  }
}

/** Two doublings in a row that each cost more than three times as much, as a sentence. */
export function steepGrowth(
  measured: (length: number, runs: number) => number,
): string | undefined {
  let before: { readonly length: number; readonly ms: number } | undefined;
  let steep: string[] = [];
  for (let length = firstLength; length <= lastLength; length *= 2) {
    let ms = measured(length, 3);
    if (before !== undefined && ms > before.ms * mostGrowth) {
      // Whatever else the machine did meanwhile: the least of more runs.
      ms = Math.min(ms, measured(length, 5));
    }
    const isSteep = before !== undefined && before.ms >= shortMs && ms > before.ms * mostGrowth;
    const step = `${before?.length}: ${before?.ms.toFixed()} ms, ${length}: ${ms.toFixed()} ms`;
    steep = isSteep ? [...steep, step] : [];
    if (steep.length >= 2 && ms > length * harmlessMsPerCharacter) return steep.join("; ");
    if (ms > longMs && steep.length === 0) return undefined;
    before = { length, ms };
  }
  return undefined;
}

/** The least processor time of several runs. */
function measure({ run }: Entry, text: string, runs: number): number {
  // What comes from outside is one flat string; repeat() makes a tree of strings, which the first to read it would pay for.
  const flat = Buffer.from(text).toString();
  sandbox.run = () => void run(flat);
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < runs; count++) least = Math.min(least, processorMs());
  return least;
}

// Run as a script, because only that can be ended from outside when it does not end itself.
const script = new Script("run()");
// One for all: making a context costs more than most of what is measured in it.
const sandbox = { run: (): void => undefined };
const context = createContext(sandbox);

function processorMs(): number {
  for (;;) {
    const before = process.cpuUsage();
    try {
      script.runInContext(context, { timeout: givenUpMs });
      return passedMs(before);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      // The limit is one of the clock on the wall: on a busy machine most of that may have been others' time.
      if (passedMs(before) > givenUpMs / 4) throw new GivenUpError();
    }
  }
}

function passedMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

class GivenUpError extends Error {}

/** The error is one of the context's own. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
