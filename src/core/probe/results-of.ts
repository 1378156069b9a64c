import type { ProbeResult, ProbeResults } from "../../model/probe.ts";

/** The results of these containers alone, as they are now. */
export function resultsOf(results: ProbeResults, containerIds: Iterable<string>): ProbeResults {
  const own = new Map<string, ProbeResult>();
  for (const id of containerIds) {
    const result = results.get(id);
    if (result !== undefined) own.set(id, result);
  }
  return own;
}
