import type {
  ContainerState,
  ContainerStatus,
  EnvFromSource,
  EnvVar,
  Probe,
  ResourceRequirements,
} from "../../model/generated/kubernetes.ts";
import type { Holding } from "../../model/holding.ts";
import type { AnyContainer } from "../../model/pod.ts";
import { formatLocalTime } from "./local-time.ts";
import type { Outline } from "./outline.ts";

/** Containers of one kind, with what is known of them. */
export interface DescribedContainers {
  readonly containers: readonly AnyContainer[] | undefined;
  readonly statuses: readonly ContainerStatus[] | undefined;
  /** Of all containers of the pod. */
  readonly holdings: readonly Holding[];
}

export function describeContainers(
  out: Outline,
  label: string,
  { containers = [], statuses, holdings }: DescribedContainers,
): void {
  out.line(0, `${label}:`);
  for (const container of containers) {
    const status = statuses?.find(({ name }) => name === container.name);
    out.line(1, `${container.name}:`);
    describeIdentity(out, container, status);
    describeCommand(out, "Command:", container.command);
    describeCommand(out, "Args:", container.args);
    if (status !== undefined) describeStatus(out, status);
    describeResources(out, container.resources);
    describeHoldings(
      out,
      holdings.filter((held) => held.container === container.name),
    );
    describeProbe(out, "Liveness:", container.livenessProbe);
    describeProbe(out, "Readiness:", container.readinessProbe);
    describeProbe(out, "Startup:", container.startupProbe);
    describeEnvironment(out, container);
    describeMounts(out, container);
  }
}

function describeIdentity(
  out: Outline,
  container: AnyContainer,
  status: ContainerStatus | undefined,
): void {
  if (status !== undefined) out.line(2, "Container ID:", status.containerID ?? "");
  out.line(2, "Image:", container.image ?? "");
  if (status !== undefined) out.line(2, "Image ID:", status.imageID);
  const ports = container.ports ?? [];
  const plural = ports.length > 1 ? "s" : "";
  const shown = (number: (port: (typeof ports)[number]) => number): string =>
    ports.length === 0
      ? "<none>"
      : ports
          .map((port) => {
            const name = port.name === undefined ? "" : ` (${port.name})`;
            return `${number(port)}/${port.protocol ?? "TCP"}${name}`;
          })
          .join(", ");
  out.line(
    2,
    `Port${plural}:`,
    shown(({ containerPort }) => containerPort),
  );
  out.line(
    2,
    `Host Port${plural}:`,
    shown(({ hostPort }) => hostPort ?? 0),
  );
  const profile = container.securityContext?.seccompProfile;
  if (profile !== undefined) out.line(2, "SeccompProfile:", profile.type);
}

function describeCommand(out: Outline, label: string, words: readonly string[] | undefined): void {
  if (words === undefined || words.length === 0) return;
  out.line(2, label);
  for (const line of words.flatMap((word) => word.split("\n"))) out.line(3, line);
}

function describeStatus(out: Outline, status: ContainerStatus): void {
  describeState(out, "State:", status.state ?? {});
  if (status.lastState?.terminated !== undefined) {
    describeState(out, "Last State:", status.lastState);
  }
  out.line(2, "Ready:", status.ready ? "True" : "False");
  out.line(2, "Restart Count:", String(status.restartCount));
}

function describeState(out: Outline, label: string, state: ContainerState): void {
  const { running, waiting, terminated } = state;
  if (running !== undefined) {
    out.line(2, label, "Running");
    out.line(3, "Started:", formatLocalTime(running.startedAt));
  } else if (terminated !== undefined) {
    out.line(2, label, "Terminated");
    optional(out, "Reason:", terminated.reason);
    optional(out, "Message:", terminated.message);
    out.line(3, "Exit Code:", String(terminated.exitCode));
    if ((terminated.signal ?? 0) > 0) out.line(3, "Signal:", String(terminated.signal));
    out.line(3, "Started:", formatLocalTime(terminated.startedAt));
    out.line(3, "Finished:", formatLocalTime(terminated.finishedAt));
  } else {
    out.line(2, label, "Waiting");
    optional(out, "Reason:", waiting?.reason);
    optional(out, "Message:", waiting?.message);
  }
}

function optional(out: Outline, key: string, value: string | undefined): void {
  if (value !== undefined && value !== "") out.line(3, key, value);
}

function describeResources(out: Outline, resources: ResourceRequirements | undefined): void {
  for (const [label, list] of [
    ["Limits:", resources?.limits],
    ["Requests:", resources?.requests],
  ] as const) {
    const entries = Object.entries(list ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
    if (entries.length === 0) continue;
    out.line(2, label);
    for (const [name, quantity] of entries) out.line(3, `${name}:`, quantity);
  }
}

/** Beyond kubectl: what the container has for itself, and why. */
function describeHoldings(out: Outline, holdings: readonly Holding[]): void {
  if (holdings.length === 0) return;
  out.line(2, "Holds:");
  for (const { resource, what, because } of holdings) {
    out.line(3, `${resource}:`, what);
    out.line(3, "", `because ${because}`);
  }
}

function describeProbe(out: Outline, label: string, probe: Probe | undefined): void {
  if (probe === undefined) return;
  const timing =
    `delay=${probe.initialDelaySeconds ?? 0}s timeout=${probe.timeoutSeconds ?? 1}s ` +
    `period=${probe.periodSeconds ?? 10}s successThreshold=${probe.successThreshold ?? 1} ` +
    `failureThreshold=${probe.failureThreshold ?? 3}`;
  out.line(2, label, `${probeTarget(probe)} ${timing}`);
}

function probeTarget({ exec, httpGet, tcpSocket, grpc }: Probe): string {
  if (exec !== undefined) return `exec [${(exec.command ?? []).join(" ")}]`;
  if (httpGet !== undefined) {
    const scheme = (httpGet.scheme ?? "HTTP").toLowerCase();
    return `http-get ${scheme}://${httpGet.host ?? ""}:${httpGet.port}${httpGet.path ?? ""}`;
  }
  if (tcpSocket !== undefined) return `tcp-socket ${tcpSocket.host ?? ""}:${tcpSocket.port}`;
  if (grpc !== undefined) return `grpc <pod>:${grpc.port} ${grpc.service ?? ""}`;
  return "unknown";
}

function describeEnvironment(out: Outline, { env = [], envFrom = [] }: AnyContainer): void {
  if (envFrom.length > 0) {
    out.line(2, "Environment Variables from:");
    for (const source of envFrom) out.line(3, ...envFromCells(source));
  }
  if (env.length === 0) {
    out.line(2, "Environment:", "<none>");
    return;
  }
  out.line(2, "Environment:");
  for (const variable of env) out.line(3, `${variable.name}:`, ...envCells(variable));
}

function envFromCells({ configMapRef, secretRef, prefix }: EnvFromSource): string[] {
  const reference = configMapRef ?? secretRef;
  const kind = configMapRef === undefined ? "Secret" : "ConfigMap";
  const withPrefix = (prefix ?? "") === "" ? "" : ` with prefix '${prefix}'`;
  return [
    reference?.name ?? "",
    `${kind}${withPrefix}`,
    `Optional: ${reference?.optional ?? false}`,
  ];
}

function envCells({ value, valueFrom }: EnvVar): string[] {
  if (valueFrom === undefined) return [value ?? ""];
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
  if (fieldRef !== undefined) return [`(${fieldRef.apiVersion ?? "v1"}:${fieldRef.fieldPath})`];
  if (resourceFieldRef !== undefined) return [`(${resourceFieldRef.resource})`];
  if (secretKeyRef !== undefined) {
    const { key, name, optional: isOptional } = secretKeyRef;
    return [`<set to the key '${key}' in secret '${name}'>`, `Optional: ${isOptional ?? false}`];
  }
  if (configMapKeyRef !== undefined) {
    const { key, name, optional: isOptional } = configMapKeyRef;
    return [
      `<set to the key '${key}' of config map '${name}'>`,
      `Optional: ${isOptional ?? false}`,
    ];
  }
  return ["<unknown>"];
}

function describeMounts(
  out: Outline,
  { volumeMounts = [], volumeDevices = [] }: AnyContainer,
): void {
  if (volumeMounts.length === 0) out.line(2, "Mounts:", "<none>");
  else out.line(2, "Mounts:");
  for (const mount of volumeMounts.toSorted((a, b) => (a.mountPath < b.mountPath ? -1 : 1))) {
    const subPath = (mount.subPath ?? "") === "" ? "" : `,path="${mount.subPath}"`;
    const access = mount.readOnly === true ? "ro" : "rw";
    out.line(3, `${mount.mountPath} from ${mount.name} (${access}${subPath})`);
  }
  if (volumeDevices.length === 0) return;
  out.line(2, "Devices:");
  for (const { devicePath, name } of volumeDevices) out.line(3, `${devicePath} from ${name}`);
}
