import { requiresAttach } from "../../../core/storage/csi/csi-driver-rules.ts";
import { csiAttachmentName } from "../../../core/storage/csi/csi-paths.ts";
import { csiText } from "../../../core/storage/csi/csi-source.ts";
import { decodeBase64 } from "../../../lib/base64.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type {
  CSIPersistentVolumeSource,
  SecretReference,
  VolumeAttachment,
} from "../../../model/generated/kubernetes.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";

type Texts = Readonly<Record<string, string>>;
type LookUpDeps = Pick<CsiPluginDeps, "objects" | "names">;

/** The name of the attachment of a volume to this node. */
export function attachmentName(
  { names: { nodeName, sha256 } }: Pick<CsiPluginDeps, "names">,
  { driver, volumeHandle }: Pick<CSIPersistentVolumeSource, "driver" | "volumeHandle">,
): string {
  return csiAttachmentName({ handle: volumeHandle, driver, nodeName }, sha256);
}

/** The attachment of a volume to this node; undefined for a driver without attachments. */
export async function findAttachment(
  deps: LookUpDeps,
  source: CSIPersistentVolumeSource,
  signal: AbortSignal,
): Promise<Result<VolumeAttachment | undefined, string>> {
  const driver = deps.objects.csiDriver(source.driver);
  if (!driver.ok) return driver;
  if (!requiresAttach(driver.value)) return ok(undefined);
  const found = await deps.objects.volumeAttachment(attachmentName(deps, source), signal);
  return found.ok ? found : err(found.error.message);
}

/** What the attacher left for the node's calls. */
export async function publishContext(
  deps: LookUpDeps,
  source: CSIPersistentVolumeSource,
  signal: AbortSignal,
): Promise<Result<Texts, string>> {
  const attachment = await findAttachment(deps, source, signal);
  return attachment.ok ? ok(attachment.value?.status?.attachmentMetadata ?? {}) : attachment;
}

/** The secrets for a call; none without a reference. */
export async function credentials(
  { objects }: LookUpDeps,
  reference: SecretReference | undefined,
  signal: AbortSignal,
): Promise<Result<Texts, string>> {
  if (reference === undefined) return ok({});
  const { namespace = "", name = "" } = reference;
  const secret = await objects.secret(namespace, name, signal);
  if (!secret.ok) {
    const where = `the secret ${name} in the namespace ${namespace}`;
    return err(csiText(`failed to find ${where} with error: ${secret.error.message}`));
  }
  const data = Object.entries(secret.value.data ?? {});
  return ok(Object.fromEntries(data.map(([key, value]) => [key, decoded(value)])));
}

function decoded(base64: string): string {
  return new TextDecoder().decode(decodeBase64(base64));
}
