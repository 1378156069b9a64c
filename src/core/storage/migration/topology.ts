import { ownValue } from "../../../lib/own-value.ts";
import type {
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeSpec,
} from "../../../model/generated/kubernetes.ts";

type NodeAffinity = PersistentVolumeSpec["nodeAffinity"];

/** The labels that say where a volume can be used. */
interface TopologyLabels {
  readonly zone: string;
  readonly region: string;
}

const labels: TopologyLabels = {
  zone: "topology.kubernetes.io/zone",
  region: "topology.kubernetes.io/region",
};
const betaLabels: TopologyLabels = {
  zone: "failure-domain.beta.kubernetes.io/zone",
  region: "failure-domain.beta.kubernetes.io/region",
};
/** Between the zones of one label. */
const zoneDelimiter = "__";

/** The zones that the labels of a volume name. */
export function labelledZones({ metadata }: PersistentVolume): readonly string[] {
  const beta = ownValue(metadata?.labels, betaLabels.zone) ?? "";
  const zones = beta === "" ? (ownValue(metadata?.labels, labels.zone) ?? "") : beta;
  return zones === "" ? [] : zones.split(zoneDelimiter);
}

/** The volume's node affinity in the driver's words: its zones under the driver's key. */
export function driverTopology(volume: PersistentVolume, zoneKey: string): NodeAffinity {
  const used = usedLabels(volume);
  const affinity = volume.spec?.nodeAffinity;
  const zones = ownValue(volume.metadata?.labels, used.zone);
  const zoned = hasValues(affinity, used.zone)
    ? renamed(affinity, used.zone, zoneKey)
    : withValues(affinity, zoneKey, zones?.split(zoneDelimiter) ?? []);
  const hasOldRegion = used === betaLabels && hasValues(zoned, betaLabels.region);
  return hasOldRegion ? renamed(zoned, betaLabels.region, labels.region) : zoned;
}

/** As `driverTopology`, for a driver with a key for regions too, and with one zone in a label. */
export function zoneAndRegionTopology(
  volume: PersistentVolume,
  keys: TopologyLabels,
): NodeAffinity {
  const used = usedLabels(volume);
  const byPart = (affinity: NodeAffinity, part: keyof TopologyLabels): NodeAffinity => {
    const value = ownValue(volume.metadata?.labels, used[part]);
    return hasValues(affinity, used[part])
      ? renamed(affinity, used[part], keys[part])
      : withValues(affinity, keys[part], value === undefined ? [] : [value]);
  };
  return byPart(byPart(volume.spec?.nodeAffinity, "zone"), "region");
}

/** Those of the affinity before those of the volume's labels, and the old names only where the new ones are absent. */
function usedLabels({ metadata, spec }: PersistentVolume): TopologyLabels {
  const inAffinity = [labels, betaLabels].find(({ zone }) =>
    terms(spec?.nodeAffinity).some(({ matchExpressions = [] }) =>
      matchExpressions.some(({ key }) => key === zone),
    ),
  );
  if (inAffinity !== undefined) return inAffinity;
  const inLabels = [labels, betaLabels].find(
    ({ zone }) => ownValue(metadata?.labels, zone) !== undefined,
  );
  return inLabels ?? labels;
}

function terms(affinity: NodeAffinity): readonly NodeSelectorTerm[] {
  return affinity?.required?.nodeSelectorTerms ?? [];
}

function hasValues(affinity: NodeAffinity, wantedKey: string): boolean {
  return terms(affinity).some(({ matchExpressions = [] }) =>
    matchExpressions.some(({ key, values = [] }) => key === wantedKey && values.length > 0),
  );
}

function renamed(affinity: NodeAffinity, oldKey: string, newKey: string): NodeAffinity {
  if (terms(affinity).length === 0) return affinity;
  return withTerms(
    terms(affinity).map((term) => ({
      ...term,
      matchExpressions: term.matchExpressions?.map((one) =>
        one.key === oldKey ? { ...one, key: newKey } : one,
      ),
    })),
  );
}

/** Every term asks for one of the values too. */
function withValues(affinity: NodeAffinity, key: string, values: readonly string[]): NodeAffinity {
  const known = new Set(values.map((value) => value.trim()).filter((value) => value !== ""));
  if (known.size === 0) return affinity;
  const requirement = { key, operator: "In", values: [...known].toSorted() };
  const present = terms(affinity);
  return withTerms(
    (present.length === 0 ? [{}] : present).map((term: NodeSelectorTerm) => ({
      ...term,
      matchExpressions: [...(term.matchExpressions ?? []), requirement],
    })),
  );
}

function withTerms(nodeSelectorTerms: readonly NodeSelectorTerm[]): NodeAffinity {
  return { required: { nodeSelectorTerms } };
}
