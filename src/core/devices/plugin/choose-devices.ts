import { compareText } from "../../../lib/compare-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { TopologyHint } from "../topology/hints.ts";
import type { DeviceEndpoint, DeviceSteps } from "./device-calls.ts";
import type { DeviceInventory } from "./device-inventory.ts";

export interface DeviceRequest {
  readonly resource: string;
  readonly count: number;
  /** Devices of the pod's init containers, which are taken first. */
  readonly reusable: ReadonlySet<string>;
  readonly affinity: TopologyHint;
}

export interface ChosenDevices {
  readonly ids: ReadonlySet<string>;
  readonly because: string;
}

/**
 * Chooses devices for a container: those it may take over, then those near the NUMA nodes that were agreed on, then others; the plugin
 * may choose among them. What is chosen is added to `inUse` at once, and stays there when the choice fails.
 */
export function* chooseDevices(
  inventory: DeviceInventory,
  inUse: (resource: string) => Set<string>,
  { resource, count, reusable, affinity }: DeviceRequest,
): DeviceSteps<Result<ChosenDevices, string>> {
  const chosen = new Set<string>();
  const reasons = new Set<string>();
  const take = (ids: Iterable<string>, because: string): boolean => {
    for (const id of [...ids].toSorted(compareText)) {
      if (chosen.size === count) break;
      inUse(resource).add(id);
      chosen.add(id);
      reasons.add(because);
    }
    return chosen.size === count;
  };
  const done = (): Result<ChosenDevices, string> =>
    ok({ ids: chosen, because: [...reasons].join(", then ") });
  const prefer = (among: Iterable<string>) =>
    preferredDevices(inventory, {
      resource,
      available: [...new Set([...among, ...chosen])].toSorted(compareText),
      mustInclude: [...chosen].toSorted(compareText),
      size: count,
    });
  const needed = (): number => count - chosen.size;

  if (take(reusable, "left by its init containers")) return done();
  const available = [...(inventory.healthy(resource) ?? [])].filter(
    (id) => !inUse(resource).has(id),
  );
  if (available.length < needed()) {
    return err(
      `requested number of devices unavailable for ${resource}. Requested: ${needed()}, Available: ${available.length}`,
    );
  }
  const { aligned, unaligned, unbound } = byAffinity(inventory, resource, available, affinity);
  const isChoiceAmongAligned = needed() < aligned.length;
  if (!isChoiceAmongAligned && take(aligned, "all that are free there")) return done();
  const candidates = isChoiceAmongAligned ? aligned : available;
  const preferred = yield* prefer(candidates);
  if (!preferred.ok) return preferred;
  const asPreferred = preferred.value.filter((id) => candidates.includes(id));
  if (take(asPreferred, "those that its plugin prefers")) return done();
  const rest = isChoiceAmongAligned ? [aligned] : [unaligned, unbound];
  if (rest.some((ids) => take(ids, "the first free ones by ID"))) return done();
  return err(
    `unexpectedly allocated less resources than required. Requested: ${count}, Got: ${chosen.size}`,
  );
}

/** Devices near the nodes that were agreed on, near others only, and near none. Without an agreement all are as good. */
function byAffinity(
  inventory: DeviceInventory,
  resource: string,
  available: readonly string[],
  { nodes: wanted }: TopologyHint,
): Record<"aligned" | "unaligned" | "unbound", string[]> {
  if (wanted === undefined || !inventory.hasTopology(resource)) {
    return { aligned: [], unaligned: [], unbound: [...available] };
  }
  const groups = { aligned: [] as string[], unaligned: [] as string[], unbound: [] as string[] };
  for (const id of available) {
    const nodes = inventory.nodesOf(resource, id);
    if (nodes.length === 0) groups.unbound.push(id);
    else if (nodes.some((node) => wanted.includes(node))) groups.aligned.push(id);
    else groups.unaligned.push(id);
  }
  return groups;
}

interface PreferredRequest {
  readonly resource: string;
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

function* preferredDevices(
  inventory: DeviceInventory,
  request: PreferredRequest,
): DeviceSteps<Result<readonly string[], string>> {
  const { resource } = request;
  const endpoint = inventory.endpoint(resource);
  if (endpoint === undefined) return err(endpointMissing(resource));
  if (endpoint.options?.getPreferredAllocationAvailable !== true) return ok([]);
  const failed = "device plugin GetPreferredAllocation rpc failed with err:";
  if (isStopped(endpoint)) return err(`${failed} ${endpointStopped(resource)}`);
  const answer = yield { method: "GetPreferredAllocation", ...request };
  if (answer.kind === "failed") return err(`${failed} ${answer.error}`);
  return ok(answer.kind === "preferred" ? answer.deviceIds : []);
}

export function isStopped({ stoppedAtMs }: DeviceEndpoint): boolean {
  return stoppedAtMs !== undefined;
}

export function endpointStopped(resource: string): string {
  return `endpoint ${resource} has been stopped`;
}

export function endpointMissing(resource: string): string {
  return `endpoint not found in cache for a registered resource: ${resource}`;
}
