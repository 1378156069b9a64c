// vol_data.json: what is recorded beside a CSI volume, so that it can be taken down without the API. Byte-compatible with the kubelet's.
import { jsonText } from "../../../lib/go-text.ts";
import type { JsonNode } from "../../../lib/json-node.ts";
import { parseJson } from "../../../lib/json-parser.ts";
import { joinPath } from "../../../lib/path.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { StorageError } from "../storage-error.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { csiPluginName } from "./csi-volume.ts";

const fields = [
  "specVolID",
  "volumeHandle",
  "driverName",
  "nodeName",
  "attachmentID",
  "volumeLifecycleMode",
  "seLinuxMountContext",
] as const;

/** Absent fields are not written, and read as absent; those of other agents are ignored. */
export type VolumeData = { readonly [Field in (typeof fields)[number]]?: string | undefined };

/** A volume as it was found on disk. */
export interface ReconstructedVolume {
  readonly spec: VolumeSpec;
  /** The SELinux context it is mounted with; empty = none, or not known. */
  readonly seLinuxMountContext: string;
}

export function volumeDataPath(folder: string): string {
  return joinPath(folder, "vol_data.json");
}

export function formatVolumeData(data: VolumeData): string {
  const entries = fields.toSorted().flatMap((field) => {
    const value = data[field];
    return value === undefined ? [] : [[field, value] as const];
  });
  return `${jsonText(Object.fromEntries(entries))}\n`;
}

/** `file`: the text, or why it cannot be opened. */
export function parseVolumeData(
  folder: string,
  file: Result<string, string>,
): Result<VolumeData, StorageError> {
  const path = volumeDataPath(folder);
  if (!file.ok) return failed(`failed to open volume data file [${path}]: ${file.error}`);
  const data = parseData(file.value);
  return data.ok ? data : failed(`failed to parse volume data file [${path}]: ${data.error}`);
}

function parseData(text: string): Result<VolumeData, string> {
  if (text.trim() === "") return err("EOF");
  const parsed = parseJson(text);
  if (!parsed.ok) {
    const { message } = parsed.error;
    return err(message === "unexpected end of JSON input" ? "unexpected EOF" : message);
  }
  const { value: document } = parsed;
  if (document.kind === "null") return ok({});
  if (document.kind !== "object") return err(`${cannotRead(document)} map[string]string`);
  const data: { -readonly [Field in keyof VolumeData]: string } = {};
  for (const { key, value } of document.entries) {
    if (value.kind !== "string" && value.kind !== "null") {
      return err(`${cannotRead(value)} string`);
    }
    const field = fields.find((known) => known === key);
    if (field !== undefined) data[field] = value.kind === "string" ? value.value : "";
  }
  return ok(data);
}

function cannotRead({ kind }: JsonNode): string {
  return `json: cannot unmarshal ${kind} into Go value of type`;
}

/** What a pod's folder says about its volume. */
export function reconstructCsiVolume(
  folder: string,
  file: Result<string, string>,
): Result<ReconstructedVolume, StorageError> {
  const parsed = parseVolumeData(folder, file);
  if (!parsed.ok) {
    return failed(
      `plugin.ConstructVolumeSpec failed loading volume data using [${folder}]: ${parsed.error.message}`,
    );
  }
  const { specVolID = "", driverName = "", seLinuxMountContext = "" } = parsed.value;
  const isEphemeral = parsed.value.volumeLifecycleMode === "Ephemeral";
  const spec: VolumeSpec = isEphemeral
    ? { source: "inline", volume: { name: specVolID, csi: { driver: driverName } } }
    : persistentSpec(parsed.value, "Filesystem");
  return ok({ spec, seLinuxMountContext });
}

/** What the record of a staged volume says, which does not name the persistent volume. */
export function stagedCsiVolume(
  folder: string,
  file: Result<string, string>,
): Result<ReconstructedVolume, StorageError> {
  const parsed = parseVolumeData(folder, file);
  if (!parsed.ok) return parsed;
  const { seLinuxMountContext = "" } = parsed.value;
  return ok({ spec: persistentSpec(parsed.value, "Filesystem"), seLinuxMountContext });
}

/** What the record of a block volume says; `mapPath` is the pod's link to the device, `dataFolder` where the record is. */
export function reconstructCsiBlockVolume(
  { mapPath, dataFolder }: { readonly mapPath: string; readonly dataFolder: string },
  file: Result<string, string>,
): Result<ReconstructedVolume, StorageError> {
  const parsed = parseVolumeData(dataFolder, file);
  if (!parsed.ok) {
    return failed(
      `plugin.ConstructBlockVolumeSpec failed loading volume data using [${mapPath}]: ${parsed.error.message}`,
    );
  }
  return ok({ spec: persistentSpec(parsed.value, "Block"), seLinuxMountContext: "" });
}

function persistentSpec(data: VolumeData, volumeMode: string): VolumeSpec {
  const { specVolID: name = "", driverName: driver = "", volumeHandle = "" } = data;
  const spec = { csi: { driver, volumeHandle }, volumeMode };
  return {
    source: "persistentVolume",
    persistentVolume: { metadata: { name }, spec },
    readOnly: false,
  };
}

function failed(reason: string): Result<never, StorageError> {
  return err({ kind: "final", message: `${csiPluginName}: ${reason}` });
}
