import type {
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  Lifecycle,
  PodSpec,
  Probe,
  SleepAction,
  TCPSocketAction,
} from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { headerNameProblems } from "./names.ts";
import { nonNegative } from "./object-meta.ts";
import { validatePortNumberOrName } from "./ports.ts";
import { isSupportedSignal, supportedSignals } from "./signals.ts";

interface Handler {
  readonly exec?: ExecAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
  readonly grpc?: GRPCAction | undefined;
  readonly sleep?: SleepAction | undefined;
}

export type ProbeKind = "livenessProbe" | "readinessProbe" | "startupProbe";

const schemes = ["HTTP", "HTTPS"];

/** Checks a probe; the kind decides which settings make sense. */
export function validateProbe(
  probe: Probe | undefined,
  kind: ProbeKind,
  field: FieldPath,
): FieldError[] {
  if (probe === undefined) return [];
  const at = `${field}.${kind}`;
  const grace = probe.terminationGracePeriodSeconds;
  const errors = [
    ...validateHandler({ ...probe, sleep: undefined }, undefined, at),
    ...nonNegative(probe.initialDelaySeconds ?? 0, `${at}.initialDelaySeconds`),
    ...nonNegative(probe.timeoutSeconds ?? 0, `${at}.timeoutSeconds`),
    ...nonNegative(probe.periodSeconds ?? 0, `${at}.periodSeconds`),
    ...nonNegative(probe.successThreshold ?? 0, `${at}.successThreshold`),
    ...nonNegative(probe.failureThreshold ?? 0, `${at}.failureThreshold`),
  ];
  const graceField = `${at}.terminationGracePeriodSeconds`;
  if (grace !== undefined && grace <= 0) {
    errors.push(invalid(graceField, grace, "must be greater than 0"));
  }
  if (kind === "readinessProbe") {
    if (grace !== undefined) {
      errors.push(invalid(graceField, grace, "must not be set for readinessProbes"));
    }
  } else if (probe.successThreshold !== 1) {
    errors.push(invalid(`${at}.successThreshold`, probe.successThreshold ?? 0, "must be 1"));
  }
  return errors;
}

/** Checks the hooks and the stop signal of a container. */
export function validateLifecycle(
  lifecycle: Lifecycle | undefined,
  spec: PodSpec,
  field: FieldPath,
): FieldError[] {
  if (lifecycle === undefined) return [];
  const { postStart, preStop, stopSignal } = lifecycle;
  const graceSeconds = spec.terminationGracePeriodSeconds;
  return [
    ...(postStart === undefined
      ? []
      : validateHandler(postStart, graceSeconds, `${field}.postStart`)),
    ...(preStop === undefined ? [] : validateHandler(preStop, graceSeconds, `${field}.preStop`)),
    ...(stopSignal === undefined
      ? []
      : validateStopSignal(stopSignal, spec.os?.name, `${field}.stopSignal`)),
  ];
}

function validateHandler(
  handler: Handler,
  graceSeconds: number | undefined,
  field: FieldPath,
): FieldError[] {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  const checks: (readonly [name: string, check: () => FieldError[]])[] = [];
  if (exec !== undefined) checks.push(["exec", () => validateExec(exec, `${field}.exec`)]);
  if (httpGet !== undefined) {
    checks.push(["httpGet", () => validateHttpGet(httpGet, `${field}.httpGet`)]);
  }
  if (tcpSocket !== undefined) {
    const check = () => validatePortNumberOrName(tcpSocket.port, `${field}.tcpSocket.port`);
    checks.push(["tcpSocket", check]);
  }
  if (grpc !== undefined) {
    checks.push(["grpc", () => validatePortNumberOrName(grpc.port, `${field}.grpc.port`)]);
  }
  if (sleep !== undefined) {
    checks.push(["sleep", () => validateSleep(sleep, graceSeconds, `${field}.sleep`)]);
  }
  if (checks.length === 0) return [required(field, "must specify a handler type")];
  return checks.flatMap(([name, check], index) =>
    index === 0
      ? check()
      : [forbidden(`${field}.${name}`, "may not specify more than 1 handler type")],
  );
}

function validateExec(exec: ExecAction, field: FieldPath): FieldError[] {
  return (exec.command ?? []).length === 0 ? [required(`${field}.command`)] : [];
}

function validateHttpGet(action: HTTPGetAction, field: FieldPath): FieldError[] {
  const scheme = action.scheme ?? "";
  return [
    ...((action.path ?? "") === "" ? [required(`${field}.path`)] : []),
    ...validatePortNumberOrName(action.port, `${field}.port`),
    ...(schemes.includes(scheme) ? [] : [notSupported(`${field}.scheme`, word(scheme), schemes)]),
    ...(action.httpHeaders ?? []).flatMap(({ name }) =>
      invalidForEach(`${field}.httpHeaders`, name, headerNameProblems(name)),
    ),
  ];
}

function validateSleep(
  { seconds }: SleepAction,
  graceSeconds: number | undefined,
  field: FieldPath,
): FieldError[] {
  if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return [];
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`;
  return [invalid(field, seconds, detail)];
}

function validateStopSignal(
  signal: string,
  os: string | undefined,
  field: FieldPath,
): FieldError[] {
  if (os === undefined) {
    return [forbidden(field, "may not be set for containers with empty `spec.os.name`")];
  }
  if (isSupportedSignal(signal, os)) return [];
  return [notSupported(field, word(signal), supportedSignals(os))];
}
