// What the agent's own process uses, under the names that all programs of a cluster have.
import { readdirSync, readFileSync } from "node:fs";
import { formatMetrics, labelText, type MetricFamily } from "./metric-text.ts";

/** Since when the process runs, in seconds since 1970. */
export function formatProcessStart(): string {
  return formatMetrics([processStart()]);
}

/** Its time, memory, open files and network. What the kernel does not report is left out. */
export function formatProcessMetrics(): string {
  const { user, system } = process.cpuUsage();
  const status = readText("/proc/self/status");
  const limits = readText("/proc/self/limits");
  const bytes = (field: string): number | undefined => {
    const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  };
  const maxFiles = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  const maxBytes = /^Max address space\s+(\S+)/m.exec(limits)?.[1];
  const network = networkTotals();
  return formatMetrics([
    family(
      "process_cpu_seconds_total",
      "CPU time of the process",
      "counter",
      (user + system) / 1e6,
    ),
    family(
      "process_max_fds",
      "How many files the process may have open",
      "gauge",
      maxFiles === undefined ? undefined : Number(maxFiles),
    ),
    family("process_open_fds", "How many files the process has open", "gauge", openFiles()),
    family("process_resident_memory_bytes", "Memory of the process", "gauge", bytes("VmRSS")),
    processStart(),
    family(
      "process_virtual_memory_bytes",
      "Address space of the process",
      "gauge",
      bytes("VmSize"),
    ),
    family(
      "process_virtual_memory_max_bytes",
      "How much address space the process may have",
      "gauge",
      maxBytes === "unlimited" ? 2 ** 64 : Number(maxBytes ?? 0),
    ),
    family(
      "process_network_receive_bytes_total",
      "Bytes that the process's network received",
      "counter",
      network.get("InOctets"),
    ),
    family(
      "process_network_transmit_bytes_total",
      "Bytes that the process's network sent",
      "counter",
      network.get("OutOctets"),
    ),
  ]);
}

function processStart(): MetricFamily {
  const seconds = Math.round((Date.now() - process.uptime() * 1000) / 10) / 100;
  return family("process_start_time_seconds", "When the process began", "gauge", seconds);
}

function family(
  name: string,
  help: string,
  type: MetricFamily["type"],
  value: number | undefined,
): MetricFamily {
  return {
    name,
    help,
    type,
    samples: value === undefined ? [] : [{ labels: labelText({}), value }],
  };
}

/** The kernel's table of the network that the process is in: a line of names, then one of values. */
function networkTotals(): ReadonlyMap<string, number> {
  const lines = readText("/proc/self/net/netstat").split("\n");
  const [names = [], values = []] = lines
    .filter((line) => line.startsWith("IpExt: "))
    .map((line) => line.split(" ").slice(1));
  return new Map(names.map((name, index) => [name, Number(values[index] ?? 0)]));
}

function openFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
