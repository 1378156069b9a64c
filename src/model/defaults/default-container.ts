import type {
  Container,
  ContainerPort,
  EnvVar,
  EphemeralContainer,
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  ObjectFieldSelector,
  Probe,
} from "../generated/kubernetes.ts";
import { parseImageName } from "../image-name.ts";
import { withRoundedAmounts } from "./default-resources.ts";

const terminationMessagePath = "/dev/termination-log";

/** The pull policy of an image whose container names none. */
export function defaultPullPolicy(image: string | undefined): string {
  const parsed = parseImageName(image ?? "");
  return parsed.ok && parsed.value.tag === "latest" ? "Always" : "IfNotPresent";
}

/** Fills in what every kind of container has when it says nothing. */
export function defaultContainer<T extends Container | EphemeralContainer>(container: T): T {
  const defaulted: T = {
    ...container,
    imagePullPolicy: container.imagePullPolicy ?? defaultPullPolicy(container.image),
    terminationMessagePath: container.terminationMessagePath ?? terminationMessagePath,
    terminationMessagePolicy: container.terminationMessagePolicy ?? "File",
  };
  return {
    ...defaulted,
    ...optional("ports", container.ports?.map(defaultPort)),
    ...optional("env", container.env?.map(defaultEnvVar)),
    ...optional("resources", withRoundedAmounts(container.resources)),
    ...optional("livenessProbe", defaultProbe(container.livenessProbe)),
    ...optional("readinessProbe", defaultProbe(container.readinessProbe)),
    ...optional("startupProbe", defaultProbe(container.startupProbe)),
    ...optional("lifecycle", defaultLifecycle(container.lifecycle)),
  };
}

export function defaultFieldRef(selector: ObjectFieldSelector): ObjectFieldSelector {
  return { ...selector, apiVersion: selector.apiVersion ?? "v1" };
}

function defaultPort(port: ContainerPort): ContainerPort {
  return { ...port, protocol: port.protocol ?? "TCP" };
}

function defaultEnvVar(variable: EnvVar): EnvVar {
  const source = variable.valueFrom;
  if (source === undefined) return variable;
  const { fieldRef, fileKeyRef } = source;
  return {
    ...variable,
    valueFrom: {
      ...source,
      ...(fieldRef === undefined ? {} : { fieldRef: defaultFieldRef(fieldRef) }),
      ...(fileKeyRef === undefined
        ? {}
        : { fileKeyRef: { ...fileKeyRef, optional: fileKeyRef.optional ?? false } }),
    },
  };
}

function defaultProbe(probe: Probe | undefined): Probe | undefined {
  if (probe === undefined) return undefined;
  const { grpc } = probe;
  return {
    ...probe,
    timeoutSeconds: probe.timeoutSeconds ?? 1,
    periodSeconds: probe.periodSeconds ?? 10,
    successThreshold: probe.successThreshold ?? 1,
    failureThreshold: probe.failureThreshold ?? 3,
    ...optional("httpGet", defaultHttpGet(probe.httpGet)),
    ...(grpc === undefined ? {} : { grpc: { ...grpc, service: grpc.service ?? "" } }),
  };
}

function defaultLifecycle(lifecycle: Lifecycle | undefined): Lifecycle | undefined {
  if (lifecycle === undefined) return undefined;
  return {
    ...lifecycle,
    ...optional("postStart", defaultHandler(lifecycle.postStart)),
    ...optional("preStop", defaultHandler(lifecycle.preStop)),
  };
}

function defaultHandler(handler: LifecycleHandler | undefined): LifecycleHandler | undefined {
  if (handler === undefined) return undefined;
  return { ...handler, ...optional("httpGet", defaultHttpGet(handler.httpGet)) };
}

function defaultHttpGet(action: HTTPGetAction | undefined): HTTPGetAction | undefined {
  if (action === undefined) return undefined;
  return { ...action, path: action.path ?? "/", scheme: action.scheme ?? "HTTP" };
}

/** The one-field object, or none, so that an absent field stays absent. */
function optional<K extends string, V>(name: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { [P in K]?: V });
}
