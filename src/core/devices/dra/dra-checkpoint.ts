// The file in which a kubelet keeps the claims that are in use, dra_manager_state: either can go on where the other stopped.

import { compareText } from "../../../lib/compare-text.ts";
import { crc32 } from "../../../lib/crc32.ts";
import { errorText } from "../../../lib/error-text.ts";
import { jsonText } from "../../../lib/go-text.ts";
import { parseJsonText } from "../../../lib/json-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { podUid } from "../../../model/ids.ts";
import type { ClaimInfo, PreparedDevice } from "./claim-info.ts";

interface FileClaim {
  readonly ClaimUID: string;
  readonly ClaimName: string;
  readonly Namespace: string;
  readonly PodUIDs: Readonly<Record<string, object>> | null;
  readonly DriverState: Readonly<
    Record<string, { readonly Devices: readonly FileDevice[] | null }>
  > | null;
}

interface FileDevice {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly ShareID: string | null;
  readonly RequestNames: readonly string[] | null;
  readonly CDIDeviceIDs: readonly string[] | null;
}

/** Without claims: the file of a node that never had one. */
export function encodeDraCheckpoint(claims?: readonly ClaimInfo[]): string {
  const data = encodeData(claims);
  return jsonText({ Data: data, Checksum: crc32(data) });
}

/** An error says what is wrong with the text. No claim counts as prepared: this agent did not do it. */
export function parseDraCheckpoint(text: string): Result<ClaimInfo[], string> {
  const data = parseData(text);
  if (!data.ok) {
    return err(
      `create ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state: ${data.error}`,
    );
  }
  try {
    const { ClaimInfoStateList } = parseJsonText(data.value) as {
      readonly ClaimInfoStateList?: readonly FileClaim[] | null;
    };
    return ok((ClaimInfoStateList ?? []).map(decodeClaim));
  } catch (error) {
    return err(`create ResourceClaim cache: GetEntries() on checkpoint: ${errorText(error)}`);
  }
}

/** What the file lacks is as in one of a node without claims. */
function parseData(text: string): Result<string, string> {
  try {
    const empty = encodeData();
    const { Data = empty, Checksum = crc32(empty) } = parseJsonText(text) as {
      readonly Data?: string;
      readonly Checksum?: number;
    };
    return crc32(Data) === Checksum ? ok(Data) : err("checkpoint is corrupted");
  } catch (error) {
    return err(errorText(error));
  }
}

function encodeData(claims?: readonly ClaimInfo[]): string {
  return jsonText({
    kind: "DRACheckpoint",
    apiVersion: "checkpoint.dra.kubelet.k8s.io/v1",
    ClaimInfoStateList: claims?.map(encodeClaim) ?? null,
  });
}

function encodeClaim({ uid, name, namespace, pods, drivers }: ClaimInfo): FileClaim {
  const sortedDrivers = [...drivers].toSorted(([a], [b]) => compareText(a, b));
  return {
    ClaimUID: uid,
    ClaimName: name,
    Namespace: namespace,
    PodUIDs: Object.fromEntries([...pods].toSorted(compareText).map((pod) => [pod, {}])),
    DriverState: Object.fromEntries(
      sortedDrivers.map(([driver, devices]) => [
        driver,
        { Devices: devices.length === 0 ? null : devices.map(encodeDevice) },
      ]),
    ),
  };
}

function encodeDevice(prepared: PreparedDevice): FileDevice {
  return {
    PoolName: prepared.pool,
    DeviceName: prepared.device,
    ShareID: prepared.shareId ?? null,
    RequestNames: prepared.requests.length === 0 ? null : prepared.requests,
    CDIDeviceIDs: prepared.cdiDevices.length === 0 ? null : prepared.cdiDevices,
  };
}

function decodeClaim(claim: FileClaim): ClaimInfo {
  const drivers = Object.entries(claim.DriverState ?? {});
  return {
    uid: claim.ClaimUID,
    name: claim.ClaimName,
    namespace: claim.Namespace,
    pods: new Set(Object.keys(claim.PodUIDs ?? {}).map(podUid)),
    drivers: new Map(
      drivers.map(([driver, { Devices }]) => [driver, (Devices ?? []).map(decodeDevice)]),
    ),
    isPrepared: false,
  };
}

function decodeDevice(device: FileDevice): PreparedDevice {
  return {
    pool: device.PoolName,
    device: device.DeviceName,
    shareId: device.ShareID ?? undefined,
    requests: device.RequestNames ?? [],
    cdiDevices: device.CDIDeviceIDs ?? [],
  };
}
