import type { Container, EphemeralContainer, PodSpec } from "../generated/kubernetes.ts";
import { validateEnvironment, validateEnvironmentFrom } from "./environment.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  notFound,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { type ProbeKind, validateLifecycle, validateProbe } from "./handlers.ts";
import { type ValidVolumes, validateMounts } from "./mounts.ts";
import { dnsLabelProblems } from "./names.ts";
import { validateHostPortConflicts, validatePorts } from "./ports.ts";
import { validateResources } from "./resources.ts";
import {
  validateInitRestartPolicy,
  validateResizePolicies,
  validateRestartPolicy,
} from "./restart-rules.ts";
import { validateSecurityContext } from "./security-context.ts";

/** What the checks of one container need to know of its pod. */
export interface ContainerSurroundings {
  readonly spec: PodSpec;
  readonly volumes: ValidVolumes;
  readonly claimNames: ReadonlySet<string>;
}

const pullPolicies = ["Always", "IfNotPresent", "Never"];
const messagePolicies = ["File", "FallbackToLogsOnError"];
const probeKinds: readonly ProbeKind[] = ["livenessProbe", "readinessProbe", "startupProbe"];
const notForInit = "may not be set for init containers without restartPolicy=Always";
const notForEphemeral = "cannot be set for an Ephemeral Container";

const fieldsNotForEphemeral = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
] as const;

/** Checks regular, init and ephemeral containers, in this order. */
export function validateContainers(around: ContainerSurroundings, field: FieldPath): FieldError[] {
  return [
    ...validateRegularContainers(around, `${field}.containers`),
    ...validateInitContainers(around, `${field}.initContainers`),
    ...validateEphemeralContainers(around, `${field}.ephemeralContainers`),
  ];
}

function validateRegularContainers(around: ContainerSurroundings, field: FieldPath): FieldError[] {
  const { spec } = around;
  if (spec.containers.length === 0) return [required(field)];
  const names = new Set<string>();
  const errors = spec.containers.flatMap((container, index) => {
    const at = `${field}[${index}]`;
    const isTaken = names.has(container.name);
    names.add(container.name);
    return [
      ...validateContainer(container, around, at),
      ...(isTaken ? [duplicate(`${at}.name`, container.name)] : []),
      ...validateHooksAndProbes(container, spec, at),
      ...validateRestartPolicy(container, at),
    ];
  });
  return [...errors, ...validateHostPortConflicts(spec.containers, field)];
}

function validateInitContainers(around: ContainerSurroundings, field: FieldPath): FieldError[] {
  const { spec } = around;
  const names = new Set(spec.containers.map(({ name }) => name));
  return (spec.initContainers ?? []).flatMap((container, index) => {
    const at = `${field}[${index}]`;
    const isTaken = names.has(container.name);
    if (container.name !== "") names.add(container.name);
    return [
      ...validateContainer(container, around, at),
      ...validateInitRestartPolicy(container, at),
      ...(isTaken ? [duplicate(`${at}.name`, container.name)] : []),
      // Init containers run one by one, so each has the host's ports for itself.
      ...validateHostPortConflicts([container], field),
      ...(container.restartPolicy === "Always"
        ? validateHooksAndProbes(container, spec, at)
        : validateOneTimeContainer(container, at)),
    ];
  });
}

function validateOneTimeContainer(container: Container, field: FieldPath): FieldError[] {
  return [
    ...(["lifecycle", ...probeKinds] as const).flatMap((name) =>
      container[name] === undefined ? [] : [forbidden(`${field}.${name}`, notForInit)],
    ),
    ...(container.resizePolicy ?? []).flatMap(({ restartPolicy }, index) =>
      restartPolicy === "RestartContainer"
        ? [
            invalid(
              `${field}.resizePolicy[${index}].restartPolicy`,
              word(restartPolicy),
              "must not be set to 'RestartContainer' for non-sidecar initContainers",
            ),
          ]
        : [],
    ),
  ];
}

function validateEphemeralContainers(
  around: ContainerSurroundings,
  field: FieldPath,
): FieldError[] {
  const { spec } = around;
  const others = new Set(
    [...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name),
  );
  const names = new Set(others);
  return (spec.ephemeralContainers ?? []).flatMap((container, index) => {
    const at = `${field}[${index}]`;
    const isTaken = names.has(container.name);
    names.add(container.name);
    const target = container.targetContainerName;
    return [
      ...validateContainer(container, around, at),
      ...validateImagePadding(container, at),
      ...(isTaken ? [duplicate(`${at}.name`, container.name)] : []),
      ...(target !== undefined && !others.has(target)
        ? [notFound(`${at}.targetContainerName`, target)]
        : []),
      ...validateEphemeralFields(container, at),
    ];
  });
}

function validateEphemeralFields(container: EphemeralContainer, field: FieldPath): FieldError[] {
  return [
    ...fieldsNotForEphemeral.flatMap((name) =>
      isSet(container, name) ? [forbidden(`${field}.${name}`, notForEphemeral)] : [],
    ),
    ...(container.volumeMounts ?? []).flatMap((mount, index) =>
      (["subPath", "subPathExpr"] as const).flatMap((name) =>
        mount[name] === undefined
          ? []
          : [forbidden(`${field}.volumeMounts[${index}].${name}`, notForEphemeral)],
      ),
    ),
  ];
}

/** An empty object of resources is as good as none; anything else that is empty counts as set. */
function isSet(
  container: EphemeralContainer,
  name: (typeof fieldsNotForEphemeral)[number],
): boolean {
  const value = container[name];
  if (value === undefined) return false;
  return name !== "resources" || Object.values(value).some((part) => part !== undefined);
}

/** Only a pod that is about to run must have images without blanks around them; a template need not. */
export function validateImagePadding(
  { image = "" }: Container | EphemeralContainer,
  field: FieldPath,
): FieldError[] {
  if (image.trim() === image) return [];
  return [invalid(`${field}.image`, image, "must not have leading or trailing whitespace")];
}

function validateHooksAndProbes(
  container: Container,
  spec: PodSpec,
  field: FieldPath,
): FieldError[] {
  return [
    ...validateLifecycle(container.lifecycle, spec, `${field}.lifecycle`),
    ...probeKinds.flatMap((kind) => validateProbe(container[kind], kind, field)),
  ];
}

/** What holds for every kind of container. */
function validateContainer(
  container: Container | EphemeralContainer,
  { spec, volumes, claimNames }: ContainerSurroundings,
  field: FieldPath,
): FieldError[] {
  const { name, image } = container;
  const hostUsers = spec.hostUsers !== false;
  return [
    ...(name === ""
      ? [required(`${field}.name`)]
      : invalidForEach(`${field}.name`, name, dnsLabelProblems(name))),
    ...(image === undefined ? [required(`${field}.image`)] : []),
    ...oneOf(
      container.terminationMessagePolicy,
      messagePolicies,
      `${field}.terminationMessagePolicy`,
    ),
    ...validatePorts(container.ports, `${field}.ports`),
    ...validateEnvironment(container.env, `${field}.env`),
    ...validateEnvironmentFrom(container.envFrom, `${field}.envFrom`),
    ...validateMounts(container, volumes, field),
    ...validatePullPolicy(container.imagePullPolicy, `${field}.imagePullPolicy`),
    ...validateResources(container.resources, "container", claimNames, `${field}.resources`),
    ...validateResizePolicies(container.resizePolicy, spec.restartPolicy, `${field}.resizePolicy`),
    ...validateSecurityContext(container.securityContext, hostUsers, `${field}.securityContext`),
  ];
}

export function validatePullPolicy(policy: string | undefined, field: FieldPath): FieldError[] {
  return oneOf(policy, pullPolicies, field);
}

function oneOf(
  value: string | undefined,
  supported: readonly string[],
  field: FieldPath,
): FieldError[] {
  if (value === undefined) return [required(field)];
  return supported.includes(value) ? [] : [notSupported(field, word(value), supported)];
}
