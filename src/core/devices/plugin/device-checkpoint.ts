// The file in which a kubelet keeps who holds which devices, kubelet_internal_checkpoint: either can go on where the other stopped.

import { decodeBase64, encodeBase64Bytes } from "../../../lib/base64.ts";
import { compareText } from "../../../lib/compare-text.ts";
import { errorText } from "../../../lib/error-text.ts";
import { fnv1a } from "../../../lib/fnv.ts";
import { jsonText } from "../../../lib/go-text.ts";
import { parseJsonText } from "../../../lib/json-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { ContainerAllocateResponse } from "../../../model/generated/device-plugin.ts";
import { podUid } from "../../../model/ids.ts";
import type { HeldEntry } from "./pod-devices.ts";

/** What has to survive a restart. */
export interface DeviceCheckpoint {
  readonly entries: readonly HeldEntry[];
  /** The healthy devices of every known resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** The wire form of a plugin's answer, which the file holds. */
export interface AllocateResponseCodec {
  encode(response: ContainerAllocateResponse): Uint8Array;
  /** Throws for bytes that are not such a message. */
  decode(bytes: Uint8Array): ContainerAllocateResponse;
}

interface FileData {
  readonly PodDeviceEntries: readonly FileEntry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[] | null>> | null;
}

interface FileEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[] | null>> | null;
  readonly AllocResp: string | null;
}

export function encodeDeviceCheckpoint(
  { entries, registered }: DeviceCheckpoint,
  codec: AllocateResponseCodec,
): string {
  const data: FileData = {
    PodDeviceEntries:
      entries.length === 0 ? null : entries.map((entry) => encodeEntry(entry, codec)),
    RegisteredDevices: Object.fromEntries(registered),
  };
  const entriesText =
    data.PodDeviceEntries === null ? "null" : `[${data.PodDeviceEntries.map(entryJson).join(",")}]`;
  const registeredText = mapJson(data.RegisteredDevices ?? {});
  return `{"Data":{"PodDeviceEntries":${entriesText},"RegisteredDevices":${registeredText}},"Checksum":${checksum(data)}}`;
}

/** An error says what is wrong with the text. Entries whose answer cannot be read are left out. */
export function parseDeviceCheckpoint(
  text: string,
  codec: AllocateResponseCodec,
): Result<DeviceCheckpoint, string> {
  try {
    const file = parseJsonText(text) as {
      readonly Data?: Partial<FileData>;
      readonly Checksum?: number;
    };
    const { PodDeviceEntries = [], RegisteredDevices = {} } = file.Data ?? {};
    const data = { PodDeviceEntries, RegisteredDevices };
    if (checksum(data) !== file.Checksum) return err("checkpoint is corrupted");
    return ok({
      entries: (PodDeviceEntries ?? []).flatMap((entry) => decodeEntry(entry, codec)),
      registered: new Map(
        Object.entries(RegisteredDevices ?? {}).map(([resource, ids]) => [resource, ids ?? []]),
      ),
    });
  } catch (error) {
    return err(errorText(error));
  }
}

function encodeEntry(entry: HeldEntry, codec: AllocateResponseCodec): FileEntry {
  return {
    PodUID: entry.pod,
    ContainerName: entry.container,
    ResourceName: entry.resource,
    DeviceIDs: Object.fromEntries(entry.idsByNode),
    AllocResp: encodeBase64Bytes(codec.encode(entry.response)),
  };
}

function decodeEntry(entry: FileEntry, codec: AllocateResponseCodec): HeldEntry[] {
  const bytes = decodeBase64(entry.AllocResp ?? "");
  if (bytes === undefined) throw new Error(`AllocResp of pod ${entry.PodUID} is not base64`);
  const byNode = Object.entries(entry.DeviceIDs ?? {});
  try {
    const held: HeldEntry = {
      pod: podUid(entry.PodUID),
      container: entry.ContainerName,
      resource: entry.ResourceName,
      idsByNode: new Map(byNode.map(([node, ids]) => [Number(node), ids ?? []])),
      response: codec.decode(bytes),
    };
    return [held];
  } catch {
    return [];
  }
}

function entryJson({
  PodUID,
  ContainerName,
  ResourceName,
  DeviceIDs,
  AllocResp,
}: FileEntry): string {
  const names = jsonText({ PodUID, ContainerName, ResourceName }).slice(0, -1);
  return `${names},"DeviceIDs":${mapJson(DeviceIDs ?? {})},"AllocResp":${jsonText(AllocResp)}}`;
}

/** Go sorts keys as text, numbers too; an object of JavaScript would put numbers first. */
function mapJson(map: Readonly<Record<string, readonly string[] | null>>): string {
  const entries = Object.entries(map).toSorted(([a], [b]) => compareText(a, b));
  return `{${entries.map(([key, ids]) => `${jsonText(key)}:${jsonText(ids)}`).join(",")}}`;
}

/** Of a description of the value, as Go programs print it with its types. */
function checksum({ PodDeviceEntries, RegisteredDevices }: FileData): number {
  const entries =
    PodDeviceEntries === null ? "<nil>" : `[${PodDeviceEntries.map(entryDump).join(" ")}]`;
  const registered = mapDump(RegisteredDevices, ([a], [b]) => compareText(a, b));
  return fnv1a(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${entries} RegisteredDevices:(map[string][]string)${registered}}`,
  );
}

function entryDump(entry: FileEntry): string {
  const bytes = entry.AllocResp === null ? undefined : decodeBase64(entry.AllocResp);
  const fields = [
    `PodUID:(string)${entry.PodUID}`,
    `ContainerName:(string)${entry.ContainerName}`,
    `ResourceName:(string)${entry.ResourceName}`,
    `DeviceIDs:(checkpoint.DevicesPerNUMA)${mapDump(entry.DeviceIDs, ([a], [b]) => Number(a) - Number(b))}`,
    `AllocResp:([]uint8)${bytes === undefined ? "<nil>" : `[${bytes.join(" ")}]`}`,
  ];
  return `{${fields.join(" ")}}`;
}

type MapEntry = readonly [string, readonly string[] | null];

function mapDump(
  map: Readonly<Record<string, readonly string[] | null>> | null,
  compare: (a: MapEntry, b: MapEntry) => number,
): string {
  if (map === null) return "<nil>";
  const entries = Object.entries(map).toSorted(compare);
  const dump = ([key, ids]: MapEntry): string =>
    `${key}:${ids === null ? "<nil>" : `[${ids.join(" ")}]`}`;
  return `map[${entries.map(dump).join(" ")}]`;
}
