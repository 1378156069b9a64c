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

/** What the file has of one holder, and the same as the checksum sees it. */
interface EncodedEntry {
  readonly entry: HeldEntry;
  readonly json: string;
  readonly dump: string;
}

/**
 * Makes the file's text, whole with every change, as a kubelet does. What a container holds never changes: with the plugin's answer,
 * which is most of the text, it is encoded once.
 */
export class DeviceCheckpointEncoder {
  readonly #codec: Pick<AllocateResponseCodec, "encode">;
  readonly #known = new WeakMap<ContainerAllocateResponse, EncodedEntry>();

  constructor(codec: Pick<AllocateResponseCodec, "encode">) {
    this.#codec = codec;
  }

  text({ entries, registered }: DeviceCheckpoint): string {
    const encoded = entries.map((entry) => this.#encode(entry));
    const isEmpty = encoded.length === 0;
    const held = isEmpty ? "null" : `[${encoded.map(({ json }) => json).join(",")}]`;
    const devices = Object.fromEntries(registered);
    const sum = checksum(isEmpty ? null : encoded.map(({ dump }) => dump), devices);
    return `{"Data":{"PodDeviceEntries":${held},"RegisteredDevices":${mapJson(devices)}},"Checksum":${sum}}`;
  }

  #encode(entry: HeldEntry): EncodedEntry {
    const known = this.#known.get(entry.response);
    if (known !== undefined && isSameHolder(known.entry, entry)) return known;
    const bytes = this.#codec.encode(entry.response);
    const inFile = {
      PodUID: entry.pod,
      ContainerName: entry.container,
      ResourceName: entry.resource,
      DeviceIDs: Object.fromEntries(entry.idsByNode),
      AllocResp: encodeBase64Bytes(bytes),
    };
    const encoded = { entry, json: entryJson(inFile), dump: entryDump(inFile, bytesDump(bytes)) };
    this.#known.set(entry.response, encoded);
    return encoded;
  }
}

function isSameHolder(a: HeldEntry, b: HeldEntry): boolean {
  const isSamePlace = a.pod === b.pod && a.container === b.container && a.resource === b.resource;
  return isSamePlace && a.idsByNode === b.idsByNode;
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
    const dumps = PodDeviceEntries?.map((entry) => entryDump(entry, answerDump(entry))) ?? null;
    if (checksum(dumps, RegisteredDevices) !== file.Checksum) return err("checkpoint is corrupted");
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
function checksum(
  entryDumps: readonly string[] | null,
  registeredDevices: FileData["RegisteredDevices"],
): number {
  const entries = entryDumps === null ? "<nil>" : `[${entryDumps.join(" ")}]`;
  const registered = mapDump(registeredDevices, ([a], [b]) => compareText(a, b));
  return fnv1a(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${entries} RegisteredDevices:(map[string][]string)${registered}}`,
  );
}

function entryDump(entry: FileEntry, answer: string): string {
  const fields = [
    `PodUID:(string)${entry.PodUID}`,
    `ContainerName:(string)${entry.ContainerName}`,
    `ResourceName:(string)${entry.ResourceName}`,
    `DeviceIDs:(checkpoint.DevicesPerNUMA)${mapDump(entry.DeviceIDs, ([a], [b]) => Number(a) - Number(b))}`,
    `AllocResp:([]uint8)${answer}`,
  ];
  return `{${fields.join(" ")}}`;
}

function answerDump({ AllocResp }: FileEntry): string {
  const bytes = AllocResp === null ? undefined : decodeBase64(AllocResp);
  return bytes === undefined ? "<nil>" : bytesDump(bytes);
}

function bytesDump(bytes: Uint8Array): string {
  return `[${bytes.join(" ")}]`;
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
