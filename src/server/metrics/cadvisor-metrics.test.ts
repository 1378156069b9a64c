import { expect, test } from "vitest";
import type { CgroupUsage } from "../../model/cgroup-usage.ts";
import type { MeasuredCgroup } from "../../ports/stats.ts";
import { formatCadvisorMetrics } from "./cadvisor-metrics.ts";

/** The families that a kubelet of v1.36 shows on a machine with cgroup v1. */
const kubeletFamilies = [
  "cadvisor_version_info",
  "container_cpu_cfs_burst_periods_total",
  "container_cpu_cfs_burst_seconds_total",
  "container_cpu_cfs_periods_total",
  "container_cpu_cfs_throttled_periods_total",
  "container_cpu_cfs_throttled_seconds_total",
  "container_cpu_load_average_10s",
  "container_cpu_load_d_average_10s",
  "container_cpu_system_seconds_total",
  "container_cpu_usage_seconds_total",
  "container_cpu_user_seconds_total",
  "container_file_descriptors",
  "container_fs_inodes_free",
  "container_fs_inodes_total",
  "container_fs_io_current",
  "container_fs_io_time_seconds_total",
  "container_fs_io_time_weighted_seconds_total",
  "container_fs_limit_bytes",
  "container_fs_read_seconds_total",
  "container_fs_reads_merged_total",
  "container_fs_reads_total",
  "container_fs_sector_reads_total",
  "container_fs_sector_writes_total",
  "container_fs_usage_bytes",
  "container_fs_write_seconds_total",
  "container_fs_writes_merged_total",
  "container_fs_writes_total",
  "container_health_state",
  "container_last_seen",
  "container_memory_cache",
  "container_memory_failcnt",
  "container_memory_failures_total",
  "container_memory_kernel_usage",
  "container_memory_mapped_file",
  "container_memory_max_usage_bytes",
  "container_memory_rss",
  "container_memory_swap",
  "container_memory_total_active_file_bytes",
  "container_memory_total_inactive_file_bytes",
  "container_memory_usage_bytes",
  "container_memory_working_set_bytes",
  "container_network_receive_bytes_total",
  "container_network_receive_errors_total",
  "container_network_receive_packets_dropped_total",
  "container_network_receive_packets_total",
  "container_network_transmit_bytes_total",
  "container_network_transmit_errors_total",
  "container_network_transmit_packets_dropped_total",
  "container_network_transmit_packets_total",
  "container_oom_events_total",
  "container_processes",
  "container_scrape_error",
  "container_sockets",
  "container_spec_cpu_period",
  "container_spec_cpu_quota",
  "container_spec_cpu_shares",
  "container_spec_memory_limit_bytes",
  "container_spec_memory_reservation_limit_bytes",
  "container_spec_memory_swap_limit_bytes",
  "container_start_time_seconds",
  "container_tasks_state",
  "container_threads",
  "container_threads_max",
  "container_ulimits_soft",
  "machine_cpu_books",
  "machine_cpu_cores",
  "machine_cpu_drawers",
  "machine_cpu_physical_cores",
  "machine_cpu_sockets",
  "machine_memory_bytes",
  "machine_nvm_avg_power_budget_watts",
  "machine_nvm_capacity",
  "machine_scrape_error",
  "machine_swap_bytes",
];

const usage: CgroupUsage = {
  timeMs: 1_700_000_000_500,
  createdAtMs: 1_600_000_000_000,
  cpu: { usageCoreNanoSeconds: 1_500_000_000 },
  memory: {
    usageBytes: 2_097_152,
    workingSetBytes: 1_048_576,
    rssBytes: 4096,
    cacheBytes: 0,
    mappedFileBytes: 0,
    activeFileBytes: 0,
    inactiveFileBytes: 1_048_576,
    pageFaults: 7,
    majorPageFaults: 0,
    swapBytes: 0,
    limitBytes: 33_554_432,
  },
  processes: 1,
  detail: {
    userNanoSeconds: 1_000_000_000,
    systemNanoSeconds: 500_000_000,
    periods: 4,
    throttledPeriods: 1,
    throttledNanoSeconds: 20_000_000,
    burstPeriods: 0,
    burstNanoSeconds: 0,
    shares: 1024,
    quotaUs: 50_000,
    periodUs: 100_000,
    threads: 2,
    io: [
      {
        device: "/dev/sda",
        number: "8:0",
        bytes: { Read: 4096, Write: 0, Total: 4096 },
        reads: 1,
        writes: 0,
      },
    ],
  },
};

const container: MeasuredCgroup = {
  id: "/kubepods/pod1/abc",
  name: "abc",
  image: "busybox",
  container: "main",
  pod: "web",
  namespace: "default",
  usage,
  processes: { descriptors: 4, sockets: 1, maxOpenFiles: 1024 },
};

const machineCgroup: MeasuredCgroup = {
  ...container,
  id: "/",
  name: "",
  image: "",
  container: "",
  pod: "",
  namespace: "",
  interfaces: [
    {
      name: "eth0",
      rxBytes: 1,
      rxPackets: 1,
      rxErrors: 0,
      rxDropped: 0,
      txBytes: 2,
      txPackets: 1,
      txErrors: 0,
      txDropped: 0,
    },
  ],
  disks: [
    {
      device: "/dev/sda",
      capacityBytes: 1000,
      usedBytes: 10,
      inodes: 100,
      inodesFree: 50,
      counters: [1, 2, 3, 4000, 5, 6, 7, 8000, 9, 10, 11],
    },
  ],
};

const machine = {
  info: { bootID: "b", machineID: "m", systemUUID: "s", kernelVersion: "6.1", osImage: "Debian" },
  cpus: 2,
  physicalCpus: 2,
  sockets: 1,
  memoryBytes: 8_589_934_592,
  swapBytes: 0,
};

const noPause = () => Promise.resolve();

function page(): Promise<string> {
  const cgroups = [machineCgroup, container];
  return formatCadvisorMetrics(cgroups, machine, 1_700_000_001_000, noPause);
}

test("the page has every family of a kubelet's", async () => {
  const families = new Set([...(await page()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  expect(kubeletFamilies.filter((name) => !families.has(name))).toEqual([]);
});

test("a container's usage has its labels, its value and the time of the reading", async () => {
  const labels = 'container="main",cpu="total",id="/kubepods/pod1/abc",image="busybox",name="abc"';
  expect(await page()).toContain(
    `container_cpu_usage_seconds_total{${labels},namespace="default",pod="web"} 1.5 1700000000500\n`,
  );
});

test("what is allowed has no time, and large numbers have an exponent", async () => {
  expect(await page()).toMatch(
    /^container_spec_memory_limit_bytes\{.*pod="web"\} 3\.3554432e\+07$/m,
  );
});

test("disks count in seconds where the kernel counts in milliseconds", async () => {
  expect(await page()).toMatch(
    /^container_fs_read_seconds_total\{.*device="\/dev\/sda".*\} 4 1700000000500$/m,
  );
});

test("reads and writes are reported by device for a container, and by disk for the machine", async () => {
  const own = 'container="main",device="/dev/sda",id="/kubepods/pod1/abc",image="busybox"';
  const more = 'name="abc",namespace="default"';
  expect(await page()).toContain(
    `container_fs_reads_total{${own},${more},pod="web"} 1 1700000000500\n`,
  );
  expect(await page()).toContain(
    `container_blkio_device_usage_total{${own},major="8",minor="0",${more},operation="Read",pod="web"} 4096 1700000000500\n`,
  );
  const machines = (await page()).match(/^container_fs_writes_total\{.*id="\/".*$/gm) ?? [];
  expect(machines).toEqual([expect.stringMatching(/device="\/dev\/sda".* 5 1700000000500$/)]);
});

test("pressure is shown only where the kernel reports it", async () => {
  expect(await page()).not.toContain("container_pressure_");
  const psi = {
    full: { total: 0, avg10: 0, avg60: 0, avg300: 0 },
    some: { total: 2_500_000, avg10: 0, avg60: 0, avg300: 0 },
  };
  const pressed = { ...container, usage: { ...usage, ioPsi: psi } };
  expect(await formatCadvisorMetrics([pressed], machine, 0, noPause)).toMatch(
    /^container_pressure_io_waiting_seconds_total\{.*\} 2\.5 1700000000500$/m,
  );
});

test("without cgroups the page says that there was an error", async () => {
  expect(await formatCadvisorMetrics(undefined, machine, 0, noPause)).toContain(
    "container_scrape_error 1\n",
  );
});

test("the page of many containers is made in parts, each of a family", async () => {
  let pauses = 0;
  const text = await formatCadvisorMetrics([machineCgroup, container], machine, 0, () => {
    pauses += 1;
    return Promise.resolve();
  });
  const families = text.match(/^# TYPE /gm) ?? [];
  expect(pauses).toBeGreaterThanOrEqual(families.length);
});
