import { cleanPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type {
  DownwardAPIVolumeFile,
  ResourceFieldSelector,
} from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { Payload, PayloadFile } from "../../model/volume-payload.ts";
import { metadataField } from "../env/field-path.ts";
import { containerResourceField, withDefaultLimits } from "../env/resource-field.ts";
import { noDefaultMode } from "./key-payload.ts";

export interface DownwardSource {
  readonly items?: readonly DownwardAPIVolumeFile[] | undefined;
  readonly defaultMode?: number | undefined;
}

const encoder = new TextEncoder();

/** Files with what a pod says of itself; every item that cannot be had is named. */
export function downwardPayload(
  { items = [], defaultMode }: DownwardSource,
  pod: Pod,
  allocatable: Readonly<Record<string, string>>,
): Result<Payload, readonly string[]> {
  if (defaultMode === undefined) return err([noDefaultMode]);
  const problems: string[] = [];
  const payload = new Map<string, PayloadFile>();
  for (const { path, mode, fieldRef, resourceFieldRef } of items) {
    let text: Result<string, string> = ok("");
    if (fieldRef !== undefined) text = metadataField(pod, fieldRef.fieldPath);
    else if (resourceFieldRef !== undefined)
      text = resourceText(resourceFieldRef, pod, allocatable);
    if (text.ok) {
      payload.set(cleanPath(path), { data: encoder.encode(text.value), mode: mode ?? defaultMode });
    } else problems.push(text.error);
  }
  return problems.length > 0 ? err(problems) : ok(payload);
}

function resourceText(
  selector: ResourceFieldSelector,
  pod: Pod,
  allocatable: Readonly<Record<string, string>>,
): Result<string, string> {
  const { containerName = "" } = selector;
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const container = containers.find(({ name }) => name === containerName);
  if (container === undefined) return err(`container ${containerName} not found`);
  return containerResourceField(selector, withDefaultLimits(container, allocatable));
}
