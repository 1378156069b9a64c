/** What a cgroup allows and weighs. What is absent is left as it is. */
export interface CgroupResources {
  readonly cpuShares?: number | undefined;
  /** -1 lifts the limit. */
  readonly cpuQuotaUs?: number | undefined;
  readonly cpuPeriodUs?: number | undefined;
  readonly memoryBytes?: bigint | undefined;
  readonly pidsLimit?: number | undefined;
  /** By page size in bytes; a size that is not named gets none. */
  readonly hugePageLimits?: ReadonlyMap<bigint, bigint> | "unbounded" | undefined;
  /** Files of cgroup v2 and what is written to them; ignored by v1. */
  readonly unified?: Readonly<Record<string, string>> | undefined;
}
