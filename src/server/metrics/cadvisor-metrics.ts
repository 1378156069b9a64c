import type { NodeSystemInfo } from "../../model/generated/kubernetes.ts";
import type { MeasuredCgroup } from "../../ports/stats.ts";
import { type CgroupFamily, cgroupFamilies } from "./cgroup-families.ts";
import { type DeviceFamily, deviceFamilies } from "./device-families.ts";
import {
  formatLargePage,
  labelText,
  type MetricFamily,
  type MetricSample,
  SeriesLabels,
} from "./metric-text.ts";

/** What the page says of the machine as a whole. */
export interface MachineFacts {
  readonly info: Pick<
    NodeSystemInfo,
    "bootID" | "machineID" | "systemUUID" | "kernelVersion" | "osImage"
  >;
  readonly cpus: number;
  readonly physicalCpus: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
}

/**
 * The page /metrics/cadvisor; without cgroups it says that there was an error. `pause` is awaited often, as the page
 * of hundreds of pods takes long.
 */
export async function formatCadvisorMetrics(
  cgroups: readonly MeasuredCgroup[] | undefined,
  machine: MachineFacts,
  nowMs: number,
  pause: () => Promise<void>,
): Promise<string> {
  const owners = (cgroups ?? [])
    .map((cgroup) => ({ cgroup, labels: labelsOf(cgroup) }))
    .toSorted((a, b) => (a.labels.text < b.labels.text ? -1 : 1));
  const families = cgroupFamilies.map((family) => ({
    ...family,
    readSamples: () => cgroupSamples(owners, family, nowMs),
  }));
  const labelled = deviceFamilies.map((family) => ({
    ...family,
    readSamples: () => deviceSamples(owners, family),
  }));
  const failed = cgroups === undefined ? 1 : 0;
  const rest = [
    ...machineFamilies(machine),
    gauge("container_scrape_error", scrapeErrorHelp("container"), {}, failed),
    gauge("machine_scrape_error", scrapeErrorHelp("machine"), {}, 0),
  ].map(({ samples, ...family }) => ({ ...family, readSamples: () => samples }));
  return formatLargePage([...families, ...labelled, ...rest], pause);
}

interface Owner {
  readonly cgroup: MeasuredCgroup;
  readonly labels: SeriesLabels;
}

function* cgroupSamples(
  owners: readonly Owner[],
  { hasTime, read }: CgroupFamily,
  nowMs: number,
): Generator<MetricSample> {
  for (const { cgroup, labels } of owners) {
    const value = read(cgroup, nowMs);
    const timeMs = hasTime ? cgroup.usage.timeMs : undefined;
    if (value !== undefined) yield { labels: labels.text, value, timeMs };
  }
}

function* deviceSamples(owners: readonly Owner[], { read }: DeviceFamily): Generator<MetricSample> {
  for (const { cgroup, labels } of owners) {
    for (const [more, value] of read(cgroup)) {
      yield { labels: labels.textWith(more), value, timeMs: cgroup.usage.timeMs };
    }
  }
}

function labelsOf({ id, name, image, container, pod, namespace }: MeasuredCgroup): SeriesLabels {
  return new SeriesLabels({ id, name, image, container, pod, namespace });
}

function machineFamilies(machine: MachineFacts): readonly MetricFamily[] {
  const { info, cpus, physicalCpus, sockets, memoryBytes, swapBytes } = machine;
  const labels = {
    boot_id: info.bootID,
    machine_id: info.machineID,
    system_uuid: info.systemUUID,
  };
  const nvm = "NVM capacity value labeled by NVM mode (memory mode or app direct mode).";
  const modes = ["app_direct_mode", "memory_mode"];
  return [
    gauge("machine_cpu_cores", "Number of logical CPU cores.", labels, cpus),
    gauge("machine_cpu_physical_cores", "Number of physical CPU cores.", labels, physicalCpus),
    gauge("machine_cpu_sockets", "Number of CPU sockets.", labels, sockets),
    gauge("machine_cpu_books", "Number of CPU books.", labels, 0),
    gauge("machine_cpu_drawers", "Number of CPU drawers.", labels, 0),
    gauge(
      "machine_memory_bytes",
      "Amount of memory installed on the machine.",
      labels,
      memoryBytes,
    ),
    gauge(
      "machine_swap_bytes",
      "Amount of swap memory available on the machine.",
      labels,
      swapBytes,
    ),
    gauge("machine_nvm_avg_power_budget_watts", "NVM power budget.", labels, 0),
    {
      name: "machine_nvm_capacity",
      help: nvm,
      type: "gauge",
      samples: modes.map((mode) => ({ labels: labelText({ ...labels, mode }), value: 0 })),
    },
    gauge(
      "cadvisor_version_info",
      "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
      {
        kernelVersion: info.kernelVersion,
        osVersion: info.osImage,
        dockerVersion: "",
        cadvisorVersion: "",
        cadvisorRevision: "",
      },
      1,
    ),
  ];
}

function gauge(
  name: string,
  help: string,
  labels: Readonly<Record<string, string>>,
  value: number,
): MetricFamily {
  return { name, help, type: "gauge", samples: [{ labels: labelText(labels), value }] };
}

function scrapeErrorHelp(what: string): string {
  return `1 if there was an error while getting ${what} metrics, 0 otherwise`;
}
