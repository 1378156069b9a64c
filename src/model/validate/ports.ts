import type { Container, ContainerPort, PodSpec } from "../generated/kubernetes.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  invalidForEach,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { portNameProblems, portNumberProblems } from "./names.ts";

const protocols = ["SCTP", "TCP", "UDP"];

export function validatePorts(
  ports: readonly ContainerPort[] | undefined,
  field: FieldPath,
): FieldError[] {
  const names = new Set<string>();
  return (ports ?? []).flatMap((port, index) => {
    const at = `${field}[${index}]`;
    return [
      ...validatePortName(port.name, names, `${at}.name`),
      ...(port.containerPort === 0
        ? [required(`${at}.containerPort`)]
        : validatePortNumber(port.containerPort, `${at}.containerPort`)),
      ...(port.hostPort === undefined ? [] : validatePortNumber(port.hostPort, `${at}.hostPort`)),
      ...validateProtocol(port.protocol, `${at}.protocol`),
    ];
  });
}

function validatePortName(
  name: string | undefined,
  names: Set<string>,
  field: FieldPath,
): FieldError[] {
  if (name === undefined) return [];
  const errors = invalidForEach(field, name, portNameProblems(name));
  if (errors.length > 0) return errors;
  if (names.has(name)) return [duplicate(field, name)];
  names.add(name);
  return [];
}

function validatePortNumber(port: number, field: FieldPath): FieldError[] {
  return invalidForEach(field, port, portNumberProblems(port));
}

function validateProtocol(protocol: string | undefined, field: FieldPath): FieldError[] {
  if (protocol === undefined) return [required(field)];
  return protocols.includes(protocol) ? [] : [notSupported(field, word(protocol), protocols)];
}

/** A port by number or by name. */
export function validatePortNumberOrName(port: number | string, field: FieldPath): FieldError[] {
  return typeof port === "number"
    ? validatePortNumber(port, field)
    : invalidForEach(field, port, portNameProblems(port));
}

/** Two ports of the given containers must not ask for the same port of the host. */
export function validateHostPortConflicts(
  containers: readonly Container[],
  field: FieldPath,
): FieldError[] {
  const taken = new Set<string>();
  return containers.flatMap((container, containerIndex) =>
    (container.ports ?? []).flatMap(({ hostPort, hostIP = "", protocol = "" }, index) => {
      if (hostPort === undefined) return [];
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) {
        return [duplicate(`${field}[${containerIndex}].ports[${index}].hostPort`, key)];
      }
      taken.add(key);
      return [];
    }),
  );
}

/** On the host's network a container's port and the host's port are one. */
export function validateHostNetworkPorts(spec: PodSpec, field: FieldPath): FieldError[] {
  if (spec.hostNetwork !== true) return [];
  return spec.containers.flatMap((container, containerIndex) =>
    (container.ports ?? []).flatMap(({ hostPort, containerPort }, index) => {
      if (hostPort === undefined || hostPort === containerPort) return [];
      const at = `${field}.containers[${containerIndex}].ports[${index}].hostPort`;
      return [invalid(at, hostPort, "must match `containerPort` when `hostNetwork` is true")];
    }),
  );
}
