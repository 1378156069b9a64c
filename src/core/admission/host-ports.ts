import { isSidecar, type Pod } from "../../model/pod.ts";

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const anyAddress = "0.0.0.0";

/** Whether none of the pod's host ports is taken by another pod. */
export function hasFreeHostPorts(pod: Pod, otherPods: readonly Pod[]): boolean {
  const taken = otherPods.flatMap(hostPorts);
  return hostPorts(pod).every((wanted) => !taken.some((other) => conflicts(wanted, other)));
}

/** The host ports of the containers that run for as long as the pod does. */
function hostPorts({ spec }: Pod): HostPort[] {
  const containers = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers];
  return containers
    .flatMap(({ ports = [] }) => ports)
    .map(({ hostIP = "", protocol = "", hostPort = 0 }) => ({
      ip: hostIP === "" ? anyAddress : hostIP,
      protocol: protocol === "" ? "TCP" : protocol,
      port: hostPort,
    }))
    .filter(({ port }) => port > 0);
}

function conflicts(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress;
}
