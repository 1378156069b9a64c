/** Memory in use, by reads that cost microseconds: for a watcher that asks several times a second. */
export interface MemoryGauge {
  /** What is held and cannot simply be dropped: of the machine's memory, or of a cgroup's. Undefined when unknown. */
  usedBytes(cgroup: string): number | undefined;
}
