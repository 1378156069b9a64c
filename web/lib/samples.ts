// Values over time, for charts.

export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

export interface Series {
  readonly name: string;
  /** In the order of time. */
  readonly samples: readonly Sample[];
}

/** The agent samples once a minute: a longer gap is one, and is not drawn over. */
const gapMs = 150_000;

/** Samples without a gap between them. */
export function runsOf(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  const runs: Sample[][] = [];
  for (const sample of samples) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run === undefined || last === undefined || sample.atMs - last.atMs > gapMs) {
      runs.push([sample]);
    } else run.push(sample);
  }
  return runs;
}

/** The newest up to then, unless it is too old to say anything of that time. */
export function sampleAt(samples: readonly Sample[], atMs: number): Sample | undefined {
  const found = samples.findLast((sample) => sample.atMs <= atMs);
  return found !== undefined && atMs - found.atMs <= gapMs ? found : undefined;
}
