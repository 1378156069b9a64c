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
import { maxPayloadBytes, payloadTooLarge } from "./payload-size.ts";

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
  let leftBytes = maxPayloadBytes;
  // Each field once, however often it is named: all annotations together may be large.
  const fields = new Map<string, Result<Uint8Array, string>>();
  const readField = (fieldPath: string): Result<Uint8Array, string> => {
    const data = fields.get(fieldPath) ?? encoded(metadataField(pod, fieldPath));
    fields.set(fieldPath, data);
    return data;
  };
  for (const { path, mode, fieldRef, resourceFieldRef } of items) {
    let data: Result<Uint8Array, string> = ok(new Uint8Array());
    if (fieldRef !== undefined) data = readField(fieldRef.fieldPath);
    else if (resourceFieldRef !== undefined) {
      data = encoded(resourceText(resourceFieldRef, pod, allocatable));
    }
    if (!data.ok) {
      problems.push(data.error);
      continue;
    }
    leftBytes -= data.value.length;
    if (leftBytes < 0) return err([payloadTooLarge]);
    payload.set(cleanPath(path), { data: data.value, mode: mode ?? defaultMode });
  }
  return problems.length > 0 ? err(problems) : ok(payload);
}

function encoded(text: Result<string, string>): Result<Uint8Array, string> {
  return text.ok ? ok(encoder.encode(text.value)) : text;
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
