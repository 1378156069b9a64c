import type { CgroupDeviceIo } from "../../model/cgroup-usage.ts";
import type { DiskUsage, InterfaceUsage } from "../../ports/host-usage.ts";
import type { MeasuredCgroup } from "../../ports/stats.ts";

type Values = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

/** A family with a value per cgroup and something else. */
export interface DeviceFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly read: (cgroup: MeasuredCgroup) => Values;
}

const nanosPerSecond = 1e9;
const millisPerSecond = 1e3;
const taskStates = ["sleeping", "running", "stopped", "uninterruptible", "iowaiting"];

export const deviceFamilies: readonly DeviceFamily[] = [
  {
    name: "container_cpu_usage_seconds_total",
    help: "Cumulative cpu time consumed in seconds.",
    type: "counter",
    read: ({ usage: { cpu } }) =>
      cpu === undefined ? [] : [[{ cpu: "total" }, cpu.usageCoreNanoSeconds / nanosPerSecond]],
  },
  {
    name: "container_memory_failures_total",
    help: "Cumulative count of memory allocation failures.",
    type: "counter",
    read: ({ usage: { memory } }) =>
      memory === undefined
        ? []
        : ["container", "hierarchy"].flatMap((scope) => [
            [{ failure_type: "pgfault", scope }, memory.pageFaults],
            [{ failure_type: "pgmajfault", scope }, memory.majorPageFaults],
          ]),
  },
  {
    name: "container_tasks_state",
    help: "Number of tasks in given state",
    type: "gauge",
    read: () => taskStates.map((state) => [{ state }, 0]),
  },
  {
    name: "container_ulimits_soft",
    help: "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice",
    type: "gauge",
    read: ({ processes }) =>
      processes?.maxOpenFiles === undefined
        ? []
        : [[{ ulimit: "max_open_files" }, processes.maxOpenFiles]],
  },
  networkFamily("receive_bytes", "bytes received", ({ rxBytes }) => rxBytes),
  networkFamily("receive_packets", "packets received", ({ rxPackets }) => rxPackets),
  networkFamily(
    "receive_packets_dropped",
    "packets dropped while receiving",
    ({ rxDropped }) => rxDropped,
  ),
  networkFamily("receive_errors", "errors encountered while receiving", ({ rxErrors }) => rxErrors),
  networkFamily("transmit_bytes", "bytes transmitted", ({ txBytes }) => txBytes),
  networkFamily("transmit_packets", "packets transmitted", ({ txPackets }) => txPackets),
  networkFamily(
    "transmit_packets_dropped",
    "packets dropped while transmitting",
    ({ txDropped }) => txDropped,
  ),
  networkFamily(
    "transmit_errors",
    "errors encountered while transmitting",
    ({ txErrors }) => txErrors,
  ),
  diskGauge("inodes_free", "Number of available Inodes", ({ inodesFree }) => inodesFree),
  diskGauge("inodes_total", "Number of Inodes", ({ inodes }) => inodes),
  diskGauge(
    "limit_bytes",
    "Number of bytes that can be consumed by the container on this filesystem.",
    ({ capacityBytes }) => capacityBytes,
  ),
  diskGauge(
    "usage_bytes",
    "Number of bytes that are consumed by the container on this filesystem.",
    ({ usedBytes }) => usedBytes,
  ),
  operationsFamily("reads_total", "Cumulative count of reads completed", {
    ofCgroup: ({ reads }) => reads,
    column: 0,
  }),
  diskCounter("reads_merged_total", "Cumulative count of reads merged", 1),
  diskCounter("sector_reads_total", "Cumulative count of sector reads completed", 2),
  diskSeconds("read_seconds_total", "Cumulative count of seconds spent reading", 3),
  operationsFamily("writes_total", "Cumulative count of writes completed", {
    ofCgroup: ({ writes }) => writes,
    column: 4,
  }),
  diskCounter("writes_merged_total", "Cumulative count of writes merged", 5),
  diskCounter("sector_writes_total", "Cumulative count of sector writes completed", 6),
  diskSeconds("write_seconds_total", "Cumulative count of seconds spent writing", 7),
  diskGauge(
    "io_current",
    "Number of I/Os currently in progress",
    ({ counters }) => counters[8] ?? 0,
  ),
  diskSeconds("io_time_seconds_total", "Cumulative count of seconds spent doing I/Os", 9),
  diskSeconds("io_time_weighted_seconds_total", "Cumulative weighted I/O time in seconds", 10),
  ioFamily("reads_bytes_total", "Cumulative count of bytes read", ({ bytes }) => bytes["Read"]),
  ioFamily(
    "writes_bytes_total",
    "Cumulative count of bytes written",
    ({ bytes }) => bytes["Write"],
  ),
  {
    name: "container_blkio_device_usage_total",
    help: "Blkio Device bytes usage",
    type: "counter",
    read: ({ usage: { detail } }) =>
      (detail?.io ?? []).flatMap(({ device, number, bytes }) => {
        const [major = "", minor = ""] = number.split(":");
        return Object.entries(bytes).map(
          ([operation, value]) => [{ device, major, minor, operation }, value] as const,
        );
      }),
  },
];

function networkFamily(
  name: string,
  what: string,
  read: (one: InterfaceUsage) => number,
): DeviceFamily {
  return {
    name: `container_network_${name}_total`,
    help: `Cumulative count of ${what}`,
    type: "counter",
    read: ({ interfaces = [] }) => interfaces.map((one) => [{ interface: one.name }, read(one)]),
  };
}

function diskGauge(name: string, help: string, read: (disk: DiskUsage) => number): DeviceFamily {
  return {
    name: `container_fs_${name}`,
    help,
    type: "gauge",
    read: ({ disks = [] }) => disks.map((disk) => [{ device: disk.device }, read(disk)]),
  };
}

/** `column` counts from the first behind the name in the kernel's table. */
function diskCounter(name: string, help: string, column: number): DeviceFamily {
  const whole = diskGauge(name, help, ({ counters }) => counters[column] ?? 0);
  return { ...whole, type: "counter" };
}

function diskSeconds(name: string, help: string, column: number): DeviceFamily {
  const whole = diskGauge(name, help, ({ counters }) => (counters[column] ?? 0) / millisPerSecond);
  return { ...whole, type: "counter" };
}

function ioFamily(
  name: string,
  help: string,
  read: (device: CgroupDeviceIo) => number | undefined,
): DeviceFamily {
  return {
    name: `container_fs_${name}`,
    help,
    type: "counter",
    read: ({ usage: { detail } }) =>
      (detail?.io ?? []).map((device) => [{ device: device.device }, read(device) ?? 0]),
  };
}

/** What the cgroup itself did on each device; of the whole machine, what its disks did. */
function operationsFamily(
  name: string,
  help: string,
  { ofCgroup, column }: { ofCgroup: (device: CgroupDeviceIo) => number; column: number },
): DeviceFamily {
  const own = ioFamily(name, help, ofCgroup);
  const machine = diskCounter(name, help, column);
  const read = (cgroup: MeasuredCgroup): Values => [
    ...(cgroup.disks === undefined ? own.read(cgroup) : []),
    ...machine.read(cgroup),
  ];
  return { ...machine, read };
}
