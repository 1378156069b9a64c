const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  "\u00b5s": 1e-3,
  "\u03bcs": 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a duration as Kubernetes' config files write it: "12h", "1m30s", "-5s"; undefined when it is none. */
export function parseGoDuration(text: string): number | undefined {
  const match = /^([+-]?)(0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$/.exec(
    text,
  );
  if (match === null) return undefined;
  const [, sign, parts = ""] = match;
  let total = 0;
  for (const [, count, unit = ""] of parts.matchAll(/([\d.]+)([a-z\u00b5\u03bc]+)/gy)) {
    total += Number(count) * (unitMs[unit] ?? 0);
  }
  return sign === "-" ? -total : total;
}
