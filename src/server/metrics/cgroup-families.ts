import type { CgroupCpuUsage, CgroupDetail, CgroupMemoryUsage } from "../../model/cgroup-usage.ts";
import type { MeasuredCgroup } from "../../ports/stats.ts";

/** A family with one value per cgroup. */
export interface CgroupFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  /** Whether a value carries the time of its measurement. */
  readonly hasTime: boolean;
  readonly read: (cgroup: MeasuredCgroup, nowMs: number) => number | undefined;
}

const nanosPerSecond = 1e9;
const microsPerSecond = 1e6;

export const cgroupFamilies: readonly CgroupFamily[] = [
  gauge("container_last_seen", "Last time a container was seen by the exporter", (_, nowMs) =>
    Math.trunc(nowMs / 1000),
  ),
  gauge("container_health_state", "The result of the container's health check", () => -1),
  detail(
    "container_cpu_user_seconds_total",
    "Cumulative user cpu time consumed in seconds.",
    "counter",
    (used) => seconds(used.userNanoSeconds),
  ),
  detail(
    "container_cpu_system_seconds_total",
    "Cumulative system cpu time consumed in seconds.",
    "counter",
    (used) => seconds(used.systemNanoSeconds),
  ),
  throttling(
    "container_cpu_cfs_periods_total",
    "Number of elapsed enforcement period intervals.",
    (used) => used.periods,
  ),
  throttling(
    "container_cpu_cfs_throttled_periods_total",
    "Number of throttled period intervals.",
    (used) => used.throttledPeriods,
  ),
  throttling(
    "container_cpu_cfs_throttled_seconds_total",
    "Total time duration the container has been throttled.",
    (used) => seconds(used.throttledNanoSeconds),
  ),
  throttling(
    "container_cpu_cfs_burst_periods_total",
    "Number of periods when burst occurs.",
    (used) => used.burstPeriods,
  ),
  throttling(
    "container_cpu_cfs_burst_seconds_total",
    "Total time duration the container has been bursted.",
    (used) => seconds(used.burstNanoSeconds),
  ),
  gauge(
    "container_cpu_load_average_10s",
    "Value of container cpu load average over the last 10 seconds.",
    () => 0,
  ),
  gauge(
    "container_cpu_load_d_average_10s",
    "Value of container cpu load.d average over the last 10 seconds.",
    () => 0,
  ),
  memory(
    "container_memory_cache",
    "Number of bytes of page cache memory.",
    (used) => used.cacheBytes,
  ),
  memory("container_memory_rss", "Size of RSS in bytes.", (used) => used.rssBytes),
  detail(
    "container_memory_kernel_usage",
    "Size of kernel memory allocated in bytes.",
    "gauge",
    (used) => used.kernelBytes,
  ),
  memory(
    "container_memory_mapped_file",
    "Size of memory mapped files in bytes.",
    (used) => used.mappedFileBytes,
  ),
  memory("container_memory_swap", "Container swap usage in bytes.", (used) => used.swapBytes),
  detail(
    "container_memory_failcnt",
    "Number of memory usage hits limits",
    "counter",
    (used) => used.failCount,
  ),
  memory(
    "container_memory_usage_bytes",
    "Current memory usage in bytes, including all memory regardless of when it was accessed",
    (used) => used.usageBytes,
  ),
  detail(
    "container_memory_max_usage_bytes",
    "Maximum memory usage recorded in bytes",
    "gauge",
    (used) => used.maxUsageBytes,
  ),
  memory(
    "container_memory_working_set_bytes",
    "Current working set in bytes.",
    (used) => used.workingSetBytes,
  ),
  memory(
    "container_memory_total_active_file_bytes",
    "Current total active file in bytes.",
    (used) => used.activeFileBytes,
  ),
  memory(
    "container_memory_total_inactive_file_bytes",
    "Current total inactive file in bytes.",
    (used) => used.inactiveFileBytes,
  ),
  gauge(
    "container_processes",
    "Number of processes running inside the container.",
    ({ usage }) => usage.processes,
  ),
  gauge(
    "container_file_descriptors",
    "Number of open file descriptors for the container.",
    ({ processes }) => processes?.descriptors ?? 0,
  ),
  gauge(
    "container_sockets",
    "Number of open sockets for the container.",
    ({ processes }) => processes?.sockets ?? 0,
  ),
  gauge(
    "container_threads_max",
    "Maximum number of threads allowed inside the container, infinity if value is zero",
    ({ usage }) => usage.detail?.maxThreads ?? 0,
  ),
  gauge(
    "container_threads",
    "Number of threads running inside the container",
    ({ usage }) => usage.detail?.threads,
  ),
  {
    ...gauge(
      "container_oom_events_total",
      "Count of out of memory events observed for the container",
      ({ usage }) => usage.detail?.oomKills ?? 0,
    ),
    type: "counter",
  },
  ...pressureFamilies("cpu", "CPU", ({ usage }) => usage.cpu?.psi),
  ...pressureFamilies("memory", "memory", ({ usage }) => usage.memory?.psi),
  ...pressureFamilies("io", "IO", ({ usage }) => usage.ioPsi),
  spec(
    "container_start_time_seconds",
    "Start time of the container since unix epoch in seconds.",
    ({ usage }) => Math.trunc(usage.createdAtMs / 1000),
  ),
  spec(
    "container_spec_cpu_period",
    "CPU period of the container.",
    ({ usage }) => usage.detail?.periodUs ?? 0,
  ),
  spec(
    "container_spec_cpu_quota",
    "CPU quota of the container.",
    ({ usage }) => usage.detail?.quotaUs,
  ),
  spec(
    "container_spec_cpu_shares",
    "CPU share of the container.",
    ({ usage }) => usage.detail?.shares ?? 0,
  ),
  spec(
    "container_spec_memory_limit_bytes",
    "Memory limit for the container.",
    ({ usage }) => usage.memory?.limitBytes ?? 0,
  ),
  spec(
    "container_spec_memory_swap_limit_bytes",
    "Memory swap limit for the container.",
    ({ usage }) => usage.memory?.swapLimitBytes ?? 0,
  ),
  spec(
    "container_spec_memory_reservation_limit_bytes",
    "Memory reservation limit for the container.",
    ({ usage }) => usage.detail?.reservationBytes ?? 0,
  ),
];

function gauge(name: string, help: string, read: CgroupFamily["read"]): CgroupFamily {
  return { name, help, type: "gauge", hasTime: true, read };
}

/** What is allowed, not what is used, has no time. */
function spec(name: string, help: string, read: CgroupFamily["read"]): CgroupFamily {
  return { name, help, type: "gauge", hasTime: false, read };
}

function detail(
  name: string,
  help: string,
  type: CgroupFamily["type"],
  read: (used: CgroupDetail) => number | undefined,
): CgroupFamily {
  const readDetail = ({ usage }: MeasuredCgroup) =>
    usage.detail === undefined ? undefined : (read(usage.detail) ?? 0);
  return { name, help, type, hasTime: true, read: readDetail };
}

/** Only a quota throttles. */
function throttling(
  name: string,
  help: string,
  read: (used: CgroupDetail) => number,
): CgroupFamily {
  const whole = detail(name, help, "counter", read);
  const readLimited = (cgroup: MeasuredCgroup, nowMs: number) =>
    cgroup.usage.detail?.quotaUs === undefined ? undefined : whole.read(cgroup, nowMs);
  return { ...whole, read: readLimited };
}

function memory(
  name: string,
  help: string,
  read: (used: CgroupMemoryUsage) => number,
): CgroupFamily {
  return gauge(name, help, ({ usage }) =>
    usage.memory === undefined ? undefined : read(usage.memory),
  );
}

function pressureFamilies(
  name: string,
  word: string,
  psi: (cgroup: MeasuredCgroup) => CgroupCpuUsage["psi"],
): readonly CgroupFamily[] {
  const family = (kind: string, help: string, line: "full" | "some"): CgroupFamily => ({
    name: `container_pressure_${name}_${kind}_seconds_total`,
    help,
    type: "counter",
    hasTime: true,
    read: (cgroup) => {
      const total = psi(cgroup)?.[line].total;
      return total === undefined ? undefined : total / microsPerSecond;
    },
  });
  return [
    family(
      "stalled",
      `Total time duration no tasks in the container could make progress due to ${word} congestion.`,
      "full",
    ),
    family(
      "waiting",
      `Total time duration tasks in the container have waited due to ${word} congestion.`,
      "some",
    ),
  ];
}

function seconds(nanoSeconds: number): number {
  return nanoSeconds / nanosPerSecond;
}
