/** The result of one check of the machine or the runtime. */
export interface CheckResult {
  readonly name: string;
  readonly status: "ok" | "warning" | "failed";
  readonly found: string;
  /** What to do about it; only when there is something to do. */
  readonly fix?: string | undefined;
}

export function passed(name: string, found: string): CheckResult {
  return { name, status: "ok", found };
}

/** Berth runs, with less. */
export function warning(name: string, found: string, fix: string): CheckResult {
  return { name, status: "warning", found, fix };
}

/** Berth cannot run. */
export function failed(name: string, found: string, fix: string): CheckResult {
  return { name, status: "failed", found, fix };
}
