export type ProbeKind = "startup" | "liveness" | "readiness";

/** What the last probes of a container amount to. */
export type ProbeResult = "Success" | "Failure" | "UNKNOWN";

/** Results by container id; an absent id has no result yet. */
export type ProbeResults = ReadonlyMap<string, ProbeResult>;

/** The results of these containers alone, as they are now. */
export function resultsOf(results: ProbeResults, containerIds: Iterable<string>): ProbeResults {
  const own = new Map<string, ProbeResult>();
  for (const id of containerIds) {
    const result = results.get(id);
    if (result !== undefined) own.set(id, result);
  }
  return own;
}
