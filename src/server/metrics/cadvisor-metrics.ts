import type { NodeSystemInfo } from "../../model/generated/kubernetes.ts";
import type { MeasuredCgroup } from "../../ports/stats.ts";
import { cgroupFamilies } from "./cgroup-families.ts";
import { deviceFamilies } from "./device-families.ts";
import { formatMetrics, type MetricFamily, type MetricSample } from "./metric-text.ts";

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

/** The page /metrics/cadvisor; without cgroups it says that there was an error. */
export function formatCadvisorMetrics(
  cgroups: readonly MeasuredCgroup[] | undefined,
  machine: MachineFacts,
  nowMs: number,
): string {
  const owners = (cgroups ?? []).map((cgroup) => ({ cgroup, labels: labelsOf(cgroup) }));
  const families: MetricFamily[] = cgroupFamilies.map(({ name, help, type, hasTime, read }) => ({
    name,
    help,
    type,
    samples: owners.flatMap(({ cgroup, labels }) => {
      const value = read(cgroup, nowMs);
      return value === undefined ? [] : [sampleOf(labels, value, hasTime ? cgroup : undefined)];
    }),
  }));
  const labelled = deviceFamilies.map(({ name, help, type, read }) => ({
    name,
    help,
    type,
    samples: owners.flatMap(({ cgroup, labels }) =>
      read(cgroup).map(([more, value]) => sampleOf({ ...labels, ...more }, value, cgroup)),
    ),
  }));
  const failed = cgroups === undefined ? 1 : 0;
  return formatMetrics([
    ...families,
    ...labelled,
    ...machineFamilies(machine),
    gauge("container_scrape_error", scrapeErrorHelp("container"), {}, failed),
    gauge("machine_scrape_error", scrapeErrorHelp("machine"), {}, 0),
  ]);
}

function labelsOf({ id, name, image, container, pod, namespace }: MeasuredCgroup) {
  return { id, name, image, container, pod, namespace };
}

function sampleOf(
  labels: MetricSample["labels"],
  value: number,
  cgroup: MeasuredCgroup | undefined,
): MetricSample {
  return { labels, value, timeMs: cgroup?.usage.timeMs };
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
      samples: modes.map((mode) => ({ labels: { ...labels, mode }, value: 0 })),
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
  labels: MetricSample["labels"],
  value: number,
): MetricFamily {
  return { name, help, type: "gauge", samples: [{ labels, value }] };
}

function scrapeErrorHelp(what: string): string {
  return `1 if there was an error while getting ${what} metrics, 0 otherwise`;
}
