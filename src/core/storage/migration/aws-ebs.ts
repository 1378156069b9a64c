import { parseUrlReference } from "../../../lib/go-url.ts";
import { parseUrlScheme } from "../../../lib/go-url-problem.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { trimEndOf } from "../../../lib/trim-text.ts";
import type {
  AWSElasticBlockStoreVolumeSource,
  CSIPersistentVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import { type InTreeKind, standIn, withSpec } from "./in-tree-kind.ts";
import { driverTopology } from "./topology.ts";

const driver = "ebs.csi.aws.com";
const zoneKey = `topology.${driver}/zone`;

export const awsEbs: InTreeKind = {
  translateVolume({ awsElasticBlockStore: source }) {
    if (source === undefined) return undefined;
    const csi = csiSource(source);
    return csi.ok ? standIn(`${driver}-${csi.value.volumeHandle}`, csi.value) : csi;
  },
  translatePersistentVolume(volume) {
    const source = volume.spec?.awsElasticBlockStore;
    if (source === undefined) return undefined;
    const csi = csiSource(source);
    if (!csi.ok) return csi;
    const nodeAffinity = driverTopology(volume, zoneKey);
    return withSpec(volume, { awsElasticBlockStore: undefined, csi: csi.value, nodeAffinity });
  },
};

function csiSource(
  source: AWSElasticBlockStoreVolumeSource,
): Result<CSIPersistentVolumeSource, string> {
  const id = ebsVolumeId(source.volumeID);
  if (!id.ok) return err(`failed to translate Kubernetes ID to EBS Volume ID ${id.error}`);
  return ok({
    driver,
    volumeHandle: id.value,
    readOnly: source.readOnly === true ? true : undefined,
    fsType: source.fsType,
    volumeAttributes: { partition: String(source.partition ?? 0) },
  });
}

/** An id may be written with its zone: aws://us-east-1a/vol-1. */
function ebsVolumeId(text: string): Result<string, string> {
  if (!text.startsWith("aws://")) return ok(text);
  const scheme = parseUrlScheme(text);
  if (!scheme.ok) return err(`Invalid disk name (${text}): ${scheme.error}`);
  const id = trimEndOf((parseUrlReference(text)?.path ?? "").replace(/^\/+/, ""), "/");
  return /^vol-[^/]*$/.test(id) ? ok(id) : err(`Invalid format for AWS volume (${text})`);
}
