import { decodeBase64 } from "../../lib/base64.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ConfigMap, KeyToPath, Secret } from "../../model/generated/kubernetes.ts";
import type { Payload, PayloadFile } from "../../model/volume-payload.ts";
import { maxPayloadBytes, payloadTooLarge } from "./payload-size.ts";

/** What a volume takes from an object, and how. */
export interface KeySelection {
  readonly items?: readonly KeyToPath[] | undefined;
  readonly defaultMode?: number | undefined;
  readonly optional?: boolean | undefined;
}

export const noDefaultMode = "no defaultMode used, not even the default value for it";

const encoder = new TextEncoder();

/** The files of a config map, all keys or those selected. */
export function configMapPayload(
  configMap: Pick<ConfigMap, "data" | "binaryData">,
  selection: KeySelection,
): Result<Payload, string> {
  const { data = {}, binaryData = {} } = configMap;
  const texts = Object.entries(data).map(([key, text]) => [key, encoder.encode(text)] as const);
  const binaries = decodeAll("binaryData", binaryData);
  if (!binaries.ok) return binaries;
  // Where a key is in both, a selection by key finds the text.
  const isSelection = (selection.items ?? []).length > 0;
  const all = isSelection ? [...binaries.value, ...texts] : [...texts, ...binaries.value];
  return keyPayload(new Map(all), selection, "configmap references non-existent config key");
}

/** The files of a secret, all keys or those selected. */
export function secretPayload(
  secret: Pick<Secret, "data">,
  selection: KeySelection,
): Result<Payload, string> {
  const data = decodeAll("data", secret.data ?? {});
  if (!data.ok) return data;
  return keyPayload(new Map(data.value), selection, "references non-existent secret key");
}

function keyPayload(
  values: ReadonlyMap<string, Uint8Array>,
  { items = [], defaultMode, optional = false }: KeySelection,
  missing: string,
): Result<Payload, string> {
  if (defaultMode === undefined) return err(noDefaultMode);
  if (items.length === 0) {
    return ok(new Map([...values].map(([key, data]) => [key, { data, mode: defaultMode }])));
  }
  const payload = new Map<string, PayloadFile>();
  let leftBytes = maxPayloadBytes;
  for (const { key, path, mode } of items) {
    const data = values.get(key);
    leftBytes -= data?.length ?? 0;
    if (leftBytes < 0) return err(payloadTooLarge);
    if (data !== undefined) payload.set(path, { data, mode: mode ?? defaultMode });
    else if (!optional) return err(`${missing}: ${key}`);
  }
  return ok(payload);
}

function decodeAll(
  field: string,
  values: Readonly<Record<string, string>>,
): Result<readonly (readonly [string, Uint8Array])[], string> {
  const decoded: [string, Uint8Array][] = [];
  for (const [key, text] of Object.entries(values)) {
    const data = decodeBase64(text);
    if (data === undefined) return err(`${field}[${key}] is not base64`);
    decoded.push([key, data]);
  }
  return ok(decoded);
}
