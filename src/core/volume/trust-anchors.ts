import { fnv1a } from "../../lib/fnv.ts";
import { pemContents, pemText } from "../../lib/pem-blocks.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ClusterTrustBundle } from "../../model/cluster-trust-bundle.ts";
import type { ClusterTrustBundleProjection } from "../../model/generated/kubernetes.ts";
import { labelSelectorOf } from "../../model/label-selector.ts";

/** By name. */
type Bundles = ReadonlyMap<string, ClusterTrustBundle>;

const label = "CERTIFICATE";

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
  const anchors = new Set(
    selected.value.flatMap(({ spec }) => pemContents(spec?.trustBundle ?? "", label)),
  );
  const sorted = [...anchors]
    .map((anchor) => ({ anchor, place: fnv1a(order + anchor) }))
    .toSorted((a, b) => a.place - b.place || (a.anchor < b.anchor ? -1 : 1));
  return ok(sorted.map(({ anchor }) => pemText(label, anchor)).join(""));
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
