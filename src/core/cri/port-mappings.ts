import { type PortMapping, Protocol } from "../../model/generated/cri.ts";
import type { Container, ContainerPort } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";

/** The ports of a pod's regular containers; one that a container names twice counts once. */
export function podPortMappings(pod: Pod): PortMapping[] {
  return pod.spec.containers.flatMap(containerPortMappings);
}

function containerPortMappings({ ports = [] }: Container): PortMapping[] {
  const byName = new Map<string, PortMapping>();
  for (const port of ports) {
    const name = portName(port);
    if (!byName.has(name)) byName.set(name, portMapping(port));
  }
  return [...byName.values()];
}

function portName({ name = "", protocol, hostIP, containerPort, hostPort }: ContainerPort): string {
  return name === "" ? `${protocol}-${hostIP ?? ""}:${containerPort}:${hostPort ?? 0}` : name;
}

function portMapping({ protocol, containerPort, hostPort, hostIP }: ContainerPort): PortMapping {
  return { protocol: runtimeProtocol(protocol), containerPort, hostPort, hostIp: hostIP };
}

function runtimeProtocol(protocol: string | undefined): Protocol {
  if (protocol === "UDP") return Protocol.UDP;
  return protocol === "SCTP" ? Protocol.SCTP : Protocol.TCP;
}
