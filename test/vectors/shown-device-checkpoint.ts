import { allocateResponseCodec } from "../../src/drivers/device-plugins/allocate-response.ts";
import { compareText } from "../../src/lib/compare-text.ts";

interface File {
  readonly Data?: {
    readonly PodDeviceEntries?: readonly FileEntry[] | null;
    readonly RegisteredDevices?: Readonly<Record<string, readonly string[]>>;
  };
}

interface FileEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
  readonly AllocResp: string;
}

/** What a checkpoint says, and its text where no order of Go's maps shows in it; nothing of a text that is not JSON. */
export function shownDeviceCheckpoint(text: string): Record<string, unknown> {
  const file = parsedFile(text);
  if (file === undefined) return {};
  const entries = file.Data?.PodDeviceEntries ?? [];
  const registered = file.Data?.RegisteredDevices ?? {};
  const responses = entries.map(({ AllocResp }) =>
    allocateResponseCodec.decode(Buffer.from(AllocResp, "base64")),
  );
  const isOrdered =
    entries.length <= 1 &&
    [registered, ...entries.map(({ DeviceIDs }) => DeviceIDs)].every(hasShortLists) &&
    responses.every(({ envs = {}, annotations = {} }) =>
      [envs, annotations].every((map) => Object.keys(map).length <= 1),
    );
  const shownEntries = entries.map(({ PodUID, ContainerName, ResourceName, DeviceIDs }, index) => ({
    podUID: PodUID,
    containerName: ContainerName,
    resourceName: ResourceName,
    deviceIDs: sortedLists(DeviceIDs),
    allocResp: snakeCase(responses[index]),
  }));
  const key = ({ podUID, containerName, resourceName }: (typeof shownEntries)[number]): string =>
    `${podUID}/${containerName}/${resourceName}`;
  return {
    checkpoint: {
      podDeviceEntries: shownEntries.toSorted((a, b) => compareText(key(a), key(b))),
      registeredDevices: sortedLists(registered),
    },
    ...(isOrdered ? { checkpointText: text } : {}),
  };
}

function parsedFile(text: string): File | undefined {
  try {
    return JSON.parse(text) as File;
  } catch {
    return undefined;
  }
}

function hasShortLists(lists: Readonly<Record<string, readonly string[]>>): boolean {
  return Object.values(lists).every((list) => list.length <= 1);
}

function sortedLists(lists: Readonly<Record<string, readonly string[]>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(lists).map(([key, list]) => [key, list.toSorted()]));
}

/** Field names of the wire, without zero values. Keys of maps are not names of fields. */
function snakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCase);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([, field]) => field !== "" && field !== false)
    .map(([key, field]) => {
      const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [name, Array.isArray(field) ? snakeCase(field) : field];
    });
  return Object.fromEntries(entries);
}
