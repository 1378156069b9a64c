import { chapSecret } from "../../../core/storage/iscsi/iscsi-disk.ts";
import type { VolumeSpec } from "../../../core/storage/volume-spec.ts";
import { decodeBase64 } from "../../../lib/base64.ts";
import { err, ok } from "../../../lib/result.ts";
import type { Pod } from "../../../model/pod.ts";
import type { CsiObjects } from "../../../ports/csi-objects.ts";
import type { StorageResult } from "../storage-plugin.ts";

/** What the volume's secret holds, by its keys; nothing for a volume without CHAP. */
export async function chapCredentials(
  secrets: Pick<CsiObjects, "secret">,
  spec: VolumeSpec,
  pod: Pod,
  signal: AbortSignal,
): StorageResult<ReadonlyMap<string, string>> {
  const reference = chapSecret(spec, pod.metadata.namespace);
  if (reference === undefined) return ok(new Map());
  const { namespace, name } = reference;
  const secret = await secrets.secret(namespace, name, signal);
  if (!secret.ok) {
    const message = `couldn't get secret ${namespace}/${name} error: ${secret.error.message}`;
    return err({ kind: "final", message });
  }
  const decoder = new TextDecoder();
  const values = Object.entries(secret.value.data ?? {}).map(
    ([key, value]) => [key, decoder.decode(decodeBase64(value))] as const,
  );
  return ok(new Map(values));
}
