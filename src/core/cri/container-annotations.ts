// What a container carries in the runtime, so that any agent can go on from it. Wire format: never change one.
import { jsonText } from "../../lib/go-text.ts";
import type { ContainerPort, LifecycleHandler } from "../../model/generated/kubernetes.ts";
import {
  containerHashAnnotation,
  containerNameLabel,
  containerPortsAnnotation,
  containerPreStopHandlerAnnotation,
  containerRestartCountAnnotation,
  containerTerminationMessagePathAnnotation,
  containerTerminationMessagePolicyAnnotation,
  podDeletionGracePeriodAnnotation,
  podNameLabel,
  podNamespaceLabel,
  podTerminationGracePeriodAnnotation,
  podUidLabel,
} from "../../model/labels.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { containerHash } from "../container/container-hash.ts";

/** The labels by which sandboxes and containers of a pod are found. */
export function podIdentityLabels({ metadata }: Pod): Readonly<Record<string, string>> {
  return {
    [podNameLabel]: metadata.name,
    [podNamespaceLabel]: metadata.namespace,
    [podUidLabel]: metadata.uid,
  };
}

export function containerLabels(
  pod: Pod,
  container: AnyContainer,
): Readonly<Record<string, string>> {
  return { ...podIdentityLabels(pod), [containerNameLabel]: container.name };
}

/** What is needed to restart or stop the container when its pod's spec is gone. */
export function containerAnnotations(
  pod: Pod,
  container: AnyContainer,
  restartCount: number,
): Readonly<Record<string, string>> {
  const { deletionGracePeriodSeconds } = pod.metadata;
  const { terminationGracePeriodSeconds } = pod.spec;
  const preStop = container.lifecycle?.preStop;
  const ports = container.ports ?? [];
  return {
    [containerHashAnnotation]: containerHash(container),
    [containerRestartCountAnnotation]: String(restartCount),
    [containerTerminationMessagePathAnnotation]: container.terminationMessagePath ?? "",
    [containerTerminationMessagePolicyAnnotation]: container.terminationMessagePolicy ?? "",
    ...(deletionGracePeriodSeconds === undefined
      ? {}
      : { [podDeletionGracePeriodAnnotation]: String(deletionGracePeriodSeconds) }),
    ...(terminationGracePeriodSeconds === undefined
      ? {}
      : { [podTerminationGracePeriodAnnotation]: String(terminationGracePeriodSeconds) }),
    ...(preStop === undefined
      ? {}
      : { [containerPreStopHandlerAnnotation]: jsonText(orderedHandler(preStop)) }),
    ...(ports.length === 0 ? {} : { [containerPortsAnnotation]: jsonText(ports.map(orderedPort)) }),
  };
}

// The stored JSON has the field order of the API's definition, and leaves empty optional fields out.

function orderedPort(port: ContainerPort): unknown {
  return {
    name: unlessEmpty(port.name),
    hostPort: unlessEmpty(port.hostPort),
    containerPort: port.containerPort,
    protocol: unlessEmpty(port.protocol),
    hostIP: unlessEmpty(port.hostIP),
  };
}

function orderedHandler({ exec, httpGet, tcpSocket, sleep }: LifecycleHandler): unknown {
  return {
    exec: exec && { command: unlessEmpty(exec.command) },
    httpGet: httpGet && {
      path: unlessEmpty(httpGet.path),
      port: httpGet.port,
      host: unlessEmpty(httpGet.host),
      scheme: unlessEmpty(httpGet.scheme),
      httpHeaders: unlessEmpty(httpGet.httpHeaders?.map(({ name, value }) => ({ name, value }))),
    },
    tcpSocket: tcpSocket && { port: tcpSocket.port, host: unlessEmpty(tcpSocket.host) },
    sleep: sleep && { seconds: sleep.seconds },
  };
}

function unlessEmpty<T extends string | number | readonly unknown[]>(
  value: T | undefined,
): T | undefined {
  if (value === "" || value === 0) return undefined;
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}
