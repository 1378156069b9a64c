import { decodeBase64 } from "../../lib/base64.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { decodeUtf8, utf8Length } from "../../lib/utf8.ts";
import type {
  ConfigMap,
  EnvFromSource,
  EnvVarSource,
  FileKeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
  Secret,
  Service,
} from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import { type EnvFileContent, parseEnvFile } from "./env-file.ts";
import { expand, expansionProblem, maxExpandedBytes, shortName } from "./expansion.ts";
import { metadataField, parseFieldPath } from "./field-path.ts";
import { allocatableForPod, containerResourceField, withDefaultLimits } from "./resource-field.ts";
import { serviceEnv } from "./service-env.ts";

/** An environment file of a set-up volume: where it lies, and its text unless it cannot be read. */
interface EnvFile {
  readonly path: string;
  readonly text: string | undefined;
}

/** All that an environment takes its values from. */
export interface EnvSources {
  /** Undefined until the cluster's services have been read once. */
  readonly services: readonly Service[] | undefined;
  readonly configMap: (namespace: string, name: string) => Result<ConfigMap, LookUpFailure>;
  readonly secret: (namespace: string, name: string) => Result<Secret, LookUpFailure>;
  /** Undefined when the pod has no such volume. */
  readonly envFile: (volumeName: string, path: string) => EnvFile | undefined;
  /** The pod's addresses, that of the node's family first. */
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
  /** Undefined while the node is not known. */
  readonly allocatable: Readonly<Record<string, string>> | undefined;
}

/** The variables a container starts with, in the order they are set. */
export function containerEnv(
  pod: Pod,
  container: AnyContainer,
  sources: EnvSources,
): Result<ReadonlyMap<string, string>, string> {
  const { enableServiceLinks } = pod.spec;
  if (enableServiceLinks === undefined) {
    return err("nil pod.spec.enableServiceLinks encountered, cannot construct envvars");
  }
  if (sources.services === undefined && !isStaticPod(pod)) {
    return err("services have not yet been read at least once, cannot construct envvars");
  }
  const services = serviceEnv(sources.services ?? [], pod.metadata.namespace, enableServiceLinks);
  const env = new LimitedEnv();
  for (const source of container.envFrom ?? []) {
    const entries = envFromEntries(pod, source, sources);
    if (!entries.ok) return entries;
    for (const [key, value] of entries.value) {
      if (!env.set(`${source.prefix ?? ""}${key}`, value)) return env.problem();
    }
  }
  const asking: Asking = { pod, container, sources, parsedFiles: new Map() };
  const lookUp = (name: string) => env.values.get(name) ?? services.get(name);
  for (const { name, value = "", valueFrom } of container.env ?? []) {
    if (value !== "" || valueFrom === undefined) {
      if (!env.set(name, expand(value, lookUp, env.leftBytes))) return env.problem();
      continue;
    }
    const found = referencedValue(asking, valueFrom);
    if (!found.ok) return found;
    if (found.value !== undefined && !env.set(name, found.value)) return env.problem();
  }
  for (const [name, value] of services) {
    if (!env.values.has(name) && !env.set(name, value)) return env.problem();
  }
  return ok(env.values);
}

/**
 * An environment while it is made. A variable that is set again counts each time: it is what is computed that has to end, not
 * only what is left of it.
 */
class LimitedEnv {
  readonly values = new Map<string, string>();
  leftBytes: number = maxExpandedBytes;
  #last = "";

  /** False when it goes over the limit, as a value that is undefined does already. */
  set(name: string, value: string | undefined): boolean {
    this.#last = name;
    if (value === undefined) return false;
    this.leftBytes -= variableBytes(name, value);
    if (this.leftBytes < 0) return false;
    this.values.set(name, value);
    return true;
  }

  problem(): Result<never, string> {
    return err(expansionProblem(`the variable ${shortName(this.#last)}`));
  }
}

/** As the kernel counts: NAME=value and a zero byte. */
function variableBytes(name: string, value: string): number {
  return utf8Length(name) + utf8Length(value) + 2;
}

/** The command and arguments with references to the environment replaced. */
export function expandedCommand(
  container: AnyContainer,
  env: ReadonlyMap<string, string>,
): Result<Pick<AnyContainer, "command" | "args">, string> {
  let leftBytes = maxExpandedBytes;
  for (const [name, value] of env) leftBytes -= variableBytes(name, value);
  const expanded: Record<"command" | "args", string[]> = { command: [], args: [] };
  for (const field of ["command", "args"] as const) {
    for (const [index, template] of (container[field] ?? []).entries()) {
      const text = expand(template, (name) => env.get(name), leftBytes);
      leftBytes -= utf8Length(text ?? "") + 1;
      if (text === undefined || leftBytes < 0) return err(expansionProblem(`${field}[${index}]`));
      expanded[field].push(text);
    }
  }
  return ok(expanded);
}

/** What asks for a value: undefined values below mean that an optional source is not there. */
interface Asking {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly sources: EnvSources;
  readonly parsedFiles: ParsedFiles;
}

/** Each file is read once, however many variables come from it. */
type ParsedFiles = Map<EnvFile, EnvFileContent>;

type Found = Result<string | undefined, string>;

function envFromEntries(
  pod: Pod,
  { configMapRef, secretRef }: EnvFromSource,
  sources: EnvSources,
): Result<readonly (readonly [string, string])[], string> {
  const { namespace } = pod.metadata;
  if (configMapRef !== undefined) {
    const { name = "", optional = false } = configMapRef;
    const found = optionally(sources.configMap(namespace, name), optional);
    return found.ok ? ok(Object.entries(found.value?.data ?? {})) : found;
  }
  if (secretRef !== undefined) {
    const { name = "", optional = false } = secretRef;
    const found = optionally(sources.secret(namespace, name), optional);
    if (!found.ok) return found;
    const data = Object.entries(found.value?.data ?? {});
    return ok(data.map(([key, value]) => [key, secretText(value)]));
  }
  return ok([]);
}

function referencedValue(asking: Asking, source: EnvVarSource): Found {
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef, fileKeyRef } = source;
  const { pod, sources } = asking;
  const { namespace } = pod.metadata;
  if (fieldRef !== undefined) return fieldValue(asking, fieldRef);
  if (resourceFieldRef !== undefined) return resourceValue(asking, resourceFieldRef);
  if (configMapKeyRef !== undefined) {
    const { name = "", key, optional = false } = configMapKeyRef;
    const found = optionally(sources.configMap(namespace, name), optional);
    if (!found.ok) return found;
    if (found.value === undefined) return ok(undefined);
    const value = ownValue(found.value.data, key);
    if (value !== undefined || optional) return ok(value);
    return err(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
  }
  if (secretKeyRef !== undefined) {
    const { name = "", key, optional = false } = secretKeyRef;
    const found = optionally(sources.secret(namespace, name), optional);
    if (!found.ok) return found;
    if (found.value === undefined) return ok(undefined);
    const value = ownValue(found.value.data, key);
    if (value !== undefined) return ok(secretText(value));
    return optional
      ? ok(undefined)
      : err(`couldn't find key ${key} in Secret ${namespace}/${name}`);
  }
  return fileKeyRef === undefined ? ok("") : fileValue(asking, fileKeyRef);
}

function fieldValue({ pod, sources }: Asking, ref: ObjectFieldSelector): Result<string, string> {
  const { apiVersion = "", fieldPath } = ref;
  const { podIps, hostIps } = sources;
  const path = parseFieldPath(apiVersion, fieldPath);
  if (!path.ok) return path;
  switch (path.value) {
    case "spec.nodeName":
      return ok(pod.spec.nodeName ?? "");
    case "spec.serviceAccountName":
      return ok(pod.spec.serviceAccountName ?? "");
    case "status.hostIP":
    case "status.hostIPs":
      if (hostIps.length === 0) return err("host IP unknown; known addresses: []");
      return ok(path.value === "status.hostIP" ? (hostIps[0] ?? "") : hostIps.join(","));
    case "status.podIP":
      return ok(podIps[0] ?? "");
    case "status.podIPs":
      return ok(podIps.join(","));
    default:
      return metadataField(pod, path.value);
  }
}

function resourceValue(
  { pod, container, sources }: Asking,
  ref: ResourceFieldSelector,
): Result<string, string> {
  if (sources.allocatable === undefined) {
    return err("failed to find node object, expected a node");
  }
  const allocatable = allocatableForPod(pod, sources.allocatable);
  const { containerName = "" } = ref;
  if (containerName === "") {
    return containerResourceField(ref, withDefaultLimits(container, allocatable));
  }
  const regular = pod.spec.containers.find(({ name }) => name === containerName);
  if (regular !== undefined) {
    return containerResourceField(ref, withDefaultLimits(regular, allocatable));
  }
  const init = pod.spec.initContainers?.find(({ name }) => name === containerName);
  if (init !== undefined) return containerResourceField(ref, init);
  return err(`container ${containerName} not found`);
}

function fileValue({ sources, parsedFiles }: Asking, ref: FileKeySelector): Found {
  const { volumeName, path, key, optional = false } = ref;
  const file = sources.envFile(volumeName, path);
  if (file === undefined) {
    return err(`cannot find the volume ${quoteText(volumeName)} referenced by FileKeyRef`);
  }
  const content = contentOf(file, parsedFiles);
  const value = content?.values.get(key);
  if (value === undefined && (content === undefined || content.problem !== undefined)) {
    return err("couldn't parse env file");
  }
  if (value !== undefined && value !== "") return ok(value);
  if (optional) return ok(undefined);
  return err(
    `environment variable key ${quoteText(key)} not found in file ${quoteText(file.path)}`,
  );
}

function contentOf(file: EnvFile, parsedFiles: ParsedFiles): EnvFileContent | undefined {
  if (file.text === undefined) return undefined;
  const known = parsedFiles.get(file) ?? parseEnvFile(file.text);
  parsedFiles.set(file, known);
  return known;
}

function optionally<T>(
  found: Result<T, LookUpFailure>,
  optional: boolean,
): Result<T | undefined, string> {
  if (found.ok) return found;
  if (optional && found.error.code === "not-found") return ok(undefined);
  return err(found.error.message);
}

function ownValue(data: Readonly<Record<string, string>> | undefined, key: string) {
  return data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
}

function secretText(base64: string): string {
  return decodeUtf8(decodeBase64(base64) ?? new Uint8Array());
}
