export type ProbeKind = "startup" | "liveness" | "readiness";

/** What the last probes of a container amount to. */
export type ProbeResult = "Success" | "Failure" | "UNKNOWN";

/** Results by container id; an absent id has no result yet. */
export type ProbeResults = ReadonlyMap<string, ProbeResult>;
