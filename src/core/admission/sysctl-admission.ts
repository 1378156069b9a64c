import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Pod } from "../../model/pod.ts";
import { type AdmissionResult, admitted, rejected } from "./admission.ts";

type Namespace = "IPC" | "Net";

/** The kernel settings that pods may change on this node. */
export interface SysctlAllowlist {
  readonly names: ReadonlyMap<string, Namespace>;
  readonly prefixes: ReadonlyMap<string, Namespace>;
}

/** Settings that belong to a pod alone, and the first kernel where they do. */
const safeSysctls: readonly (readonly [name: string, kernel: readonly [number, number]])[] = [
  ["kernel.shm_rmid_forced", [0, 0]],
  ["net.ipv4.ip_local_port_range", [0, 0]],
  ["net.ipv4.tcp_syncookies", [0, 0]],
  ["net.ipv4.ping_group_range", [0, 0]],
  ["net.ipv4.ip_unprivileged_port_start", [0, 0]],
  ["net.ipv4.ip_local_reserved_ports", [3, 16]],
  ["net.ipv4.tcp_keepalive_time", [4, 5]],
  ["net.ipv4.tcp_fin_timeout", [4, 6]],
  ["net.ipv4.tcp_keepalive_intvl", [4, 5]],
  ["net.ipv4.tcp_keepalive_probes", [4, 5]],
  ["net.ipv4.tcp_rmem", [4, 15]],
  ["net.ipv4.tcp_wmem", [4, 15]],
];

const ipcSysctls: ReadonlySet<string> = new Set(
  [
    "sem",
    "shmall",
    "shmmax",
    "shmmni",
    "shm_rmid_forced",
    "shm",
    "msgmax",
    "msgmnb",
    "msgmni",
    "msg",
  ].map((name) => `kernel.${name}`),
);

const longestPattern = 253;
const patternFormat = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]";
const patternRegExp = new RegExp(`^${patternFormat}$`);

/** The settings that are safe on a kernel; `kernelVersion` as the kernel reports it, "6.1.0-13-amd64". */
export function safeSysctlNames(kernelVersion: string): string[] {
  const [, major = "0", minor = "0"] = /^(\d+)\.(\d+)/.exec(kernelVersion) ?? [];
  const has = ([wantedMajor, wantedMinor]: readonly [number, number]): boolean =>
    Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor);
  return safeSysctls.filter(([, kernel]) => has(kernel)).map(([name]) => name);
}

/** Reads names and patterns ("net.*"); only settings that the kernel keeps per namespace can be allowed. */
export function parseSysctlAllowlist(patterns: readonly string[]): Result<SysctlAllowlist, string> {
  const names = new Map<string, Namespace>();
  const prefixes = new Map<string, Namespace>();
  for (const pattern of patterns) {
    if (pattern.length > longestPattern || !patternRegExp.test(pattern)) {
      return err(
        `sysctl ${quoteText(pattern)} must have at most ${longestPattern} characters and match regex ${patternFormat}`,
      );
    }
    const normal = normalizeSysctl(pattern);
    const star = normal.indexOf("*");
    const text = star === -1 ? normal : normal.slice(0, star);
    const namespace = namespaceOf(text);
    if (namespace === undefined) {
      return err(`the sysctls ${quoteText(text)} are not known to be namespaced`);
    }
    (star === -1 ? names : prefixes).set(text, namespace);
  }
  return ok({ names, prefixes });
}

/** Whether a pod changes only kernel settings that it may, and none of the node's own. */
export function admitSysctls(pod: Pod, allowlist: SysctlAllowlist): AdmissionResult {
  for (const { name, value = "" } of pod.spec.securityContext?.sysctls ?? []) {
    const normal = normalizeSysctl(name);
    const problem = sysctlProblem(normal, pod, allowlist) ?? valueProblem(normal, value);
    if (problem !== undefined) return rejected("SysctlForbidden", `forbidden sysctl: ${problem}`);
  }
  return admitted;
}

function sysctlProblem(name: string, pod: Pod, allowlist: SysctlAllowlist): string | undefined {
  const namespace = allowedNamespace(name, allowlist);
  if (namespace === undefined) return `${quoteText(name)} not allowlisted`;
  const isShared = namespace === "IPC" ? pod.spec.hostIPC : pod.spec.hostNetwork;
  return isShared === true
    ? `${quoteText(name)} not allowed with host ${namespace} enabled`
    : undefined;
}

// Runtimes have joined settings to "a=b+c=d" or to lines of a file: such a value would set another one.
function valueProblem(name: string, value: string): string | undefined {
  const isPlain = /^[\t\x20-\x7e]*$/.test(value) && !value.includes("+");
  return isPlain ? undefined : `${quoteText(name)} has a value that could set more than itself`;
}

function allowedNamespace(
  name: string,
  { names, prefixes }: SysctlAllowlist,
): Namespace | undefined {
  const exact = names.get(name);
  if (exact !== undefined) return exact;
  for (const [prefix, namespace] of prefixes) if (name.startsWith(prefix)) return namespace;
  return undefined;
}

function namespaceOf(name: string): Namespace | undefined {
  if (ipcSysctls.has(name) || name.startsWith("fs.mqueue.")) return "IPC";
  return name.startsWith("net.") ? "Net" : undefined;
}

/** "net/ipv4/conf/eno2.100/x" is written "net.ipv4.conf.eno2/100.x". */
function normalizeSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== "/") return name;
  return name.replace(/[./]/g, (separator) => (separator === "." ? "/" : "."));
}
