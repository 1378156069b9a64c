import { expandFailure } from "../../../core/storage/csi/csi-errors.ts";
import {
  blockFileSystem,
  mountFlags,
  volumeCapability,
} from "../../../core/storage/csi/csi-requests.ts";
import {
  csiText,
  isMigrated,
  requirePersistentSource,
} from "../../../core/storage/csi/csi-source.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import { err, type Result } from "../../../lib/result.ts";
import { NodeServiceCapability_RPC_Type as Capability } from "../../../model/generated/csi.ts";
import type { CSIPersistentVolumeSource } from "../../../model/generated/kubernetes.ts";
import { quantityValue } from "../../../model/quantity.ts";
import type { ExpandRequest, StorageResult } from "../storage-plugin.ts";
import { type CsiCalls, missingField } from "./csi-calls.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";
import { credentials } from "./csi-lookups.ts";

function failed(kind: StorageError["kind"], message: string): Result<never, StorageError> {
  return err({ kind, message });
}

/** Has the driver grow the volume on this node, while it is used or before. */
export async function expandCsi(
  deps: CsiPluginDeps,
  request: ExpandRequest,
  signal: AbortSignal,
): StorageResult<void> {
  const source = requirePersistentSource(request.spec);
  if (!source.ok) {
    const problem = "Expander.NodeExpand failed to get CSI persistent source";
    return failed("final", csiText(`${problem}: ${source.error}`));
  }
  const { driver, nodeExpandSecretRef: reference } = source.value;
  const client = deps.clients.open(driver, isMigrated(request.spec));
  if (!client.ok) return failed("transient", client.error);
  const expands = await client.value.supports(Capability.EXPAND_VOLUME, signal);
  if (!expands.ok) {
    const problem = "Expander.NodeExpand failed to check if node supports expansion ";
    return failed("final", `${problem}: ${expands.error.message}`);
  }
  if (!expands.value) {
    return failed("notSupported", `NodeExpand is not supported by the CSI driver ${driver}`);
  }
  const secrets = await credentials(deps, reference, signal);
  if (!secrets.ok) {
    const problem = `expander.NodeExpand failed to get NodeExpandSecretRef ${reference?.namespace}/${reference?.name}`;
    return failed("final", `${problem}: ${secrets.error}`);
  }
  const sent = { source: source.value, secrets: secrets.value };
  const done = await sendExpand(client.value, request, sent, signal);
  return done.ok ? done : err(expandFailure(done.error));
}

async function sendExpand(
  calls: CsiCalls,
  { spec, newSize, devicePath, deviceMountPath, deviceStagePath }: ExpandRequest,
  sent: {
    readonly source: CSIPersistentVolumeSource;
    readonly secrets: Readonly<Record<string, string>>;
  },
  signal: AbortSignal,
): ReturnType<CsiCalls["expand"]> {
  const { volumeHandle: volumeId, fsType = "" } = sent.source;
  const isBlock =
    spec.source === "persistentVolume" && spec.persistentVolume.spec?.volumeMode === "Block";
  const volumePath = isBlock ? devicePath : deviceMountPath;
  const missing = missingField(volumeId);
  if (missing !== undefined) return missing;
  if (volumePath === "") return failed("final", "missing volume path");
  const requiredBytes = quantityValue(newSize);
  if (requiredBytes < 0n) return failed("final", "size can not be less than 0");
  const multiWriter = await calls.supportsMultiWriter(signal);
  if (!multiWriter.ok) return multiWriter;
  return calls.expand(
    {
      volumeId,
      volumePath,
      capacityRange: { requiredBytes },
      stagingTargetPath: deviceStagePath,
      volumeCapability: volumeCapability({
        spec,
        fsType: isBlock ? blockFileSystem : fsType,
        mountFlags: mountFlags(spec, undefined),
        singleNodeMultiWriter: multiWriter.value,
      }),
      secrets: sent.secrets,
    },
    signal,
  );
}
