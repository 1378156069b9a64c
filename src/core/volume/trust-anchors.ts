import { fnv1a } from "../../lib/fnv.ts";
import { pemBlocks } from "../../lib/pem-blocks.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ClusterTrustBundle } from "../../model/cluster-trust-bundle.ts";
import type { ClusterTrustBundleProjection } from "../../model/generated/kubernetes.ts";
import { labelSelectorOf } from "../../model/label-selector.ts";

/** By name. */
type Bundles = ReadonlyMap<string, ClusterTrustBundle>;

const label = "CERTIFICATE";
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The certificates that a projection asks for, each once, as PEM. No pod may rely on where one stands: that follows `order`, which is
 * another after each start of the agent, and stays the same until the next, so that files do not change for nothing.
 */
export function trustAnchors(
  bundles: Bundles,
  projection: ClusterTrustBundleProjection,
  order: string,
): Result<string, string> {
  const selected = selectBundles(bundles, projection);
  if (!selected.ok) return selected;
  const anchors = new Set(selected.value.flatMap(anchorsOf));
  const sorted = [...anchors]
    .map((anchor) => ({ anchor, place: fnv1a(order + anchor) }))
    .toSorted((a, b) => a.place - b.place || (a.anchor < b.anchor ? -1 : 1));
  return ok(sorted.map(({ anchor }) => pemOf(anchor)).join(""));
}

function selectBundles(
  bundles: Bundles,
  { name, signerName, labelSelector, optional = false }: ClusterTrustBundleProjection,
): Result<readonly ClusterTrustBundle[], string> {
  if (name !== undefined) {
    const found = bundles.get(name);
    if (found !== undefined) return ok([found]);
    if (optional) return ok([]);
    return err(
      `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "${name}" not found`,
    );
  }
  if (signerName === undefined) {
    return err("ClusterTrustBundle projection requires either name or signerName to be set");
  }
  const isSelected = labelSelectorOf(labelSelector);
  const found = [...bundles.values()].filter(
    ({ metadata, spec }) => spec?.signerName === signerName && isSelected(metadata?.labels),
  );
  if (found.length > 0 || optional) return ok(found);
  return err("combination of signerName and labelSelector matched zero ClusterTrustBundles");
}

/** The certificates of a bundle in base64, without the lines that PEM breaks it into. */
function anchorsOf({ spec }: ClusterTrustBundle): readonly string[] {
  const begin = `-----BEGIN ${label}-----`.length;
  const end = `-----END ${label}-----`.length;
  return pemBlocks(spec?.trustBundle ?? "", label)
    .map((block) => block.slice(begin, -end).replaceAll(/\s/g, ""))
    .filter((text) => base64.test(text));
}

function pemOf(anchor: string): string {
  const lines = anchor.match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
