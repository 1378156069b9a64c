import { compareText } from "../../../lib/compare-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { Container, ResourceResourceClaim } from "../../../model/generated/kubernetes.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import { type ClaimInfo, ClaimInfos, cdiDevicesFor } from "./claim-info.ts";
import type { ClaimReference, DraClaimResult, DraSteps } from "./dra-calls.ts";
import type { DraDrivers, DraPlugin } from "./dra-drivers.ts";
import {
  claimOf,
  claimProblem,
  claimsOfContainer,
  extendedRequests,
  type PodClaim,
  podClaims,
} from "./pod-claims.ts";

type Outcome = Result<void, string>;

/** Claims in one call to a driver. */
interface Batch {
  readonly plugin: DraPlugin;
  readonly claims: readonly ClaimReference[];
}

/** Prepares the claims of pods on the node and gives them back. It does no I/O: what it asks of others is yielded. */
export class DraManager {
  readonly claims: ClaimInfos;
  readonly #drivers: DraDrivers;

  /** `claims`: those of the checkpoint. */
  constructor(drivers: DraDrivers, claims: readonly ClaimInfo[] = []) {
    this.#drivers = drivers;
    this.claims = new ClaimInfos(claims);
  }

  /** Has all claims of a pod prepared, one call per driver. Safe to repeat. */
  *prepare(pod: Pod): DraSteps<Outcome> {
    const done = yield* this.#prepare(pod);
    return done.ok ? done : err(`prepare dynamic resources: ${done.error}`);
  }

  *#prepare(pod: Pod): DraSteps<Outcome> {
    const checked = yield* this.#checkClaims(pod);
    if (!checked.ok) return checked;
    const pending = yield* this.#reference(pod, checked.value);
    if (!pending.ok) return pending;
    const batches = this.#batches(pending.value);
    if (!batches.ok) return batches;
    for (const batch of batches.value) {
      const results = yield* callDriver("NodePrepareResources", batch);
      const problem = results.ok ? this.#keepDevices(batch, results.value) : results.error;
      if (problem !== undefined) return err(problem);
    }
    for (const { namespace, name } of pending.value) {
      this.#change(namespace, name, () => ({ isPrepared: true }));
    }
    return yield* saveCheckpoint("checkpoint ResourceClaim state");
  }

  /** Everything that can be found wrong before anything is changed: a pod that fails here can be deleted without its drivers. */
  *#checkClaims(pod: Pod): DraSteps<Result<ClaimInfo[], string>> {
    const infos: ClaimInfo[] = [];
    for (const podClaim of podClaims(pod)) {
      if (!podClaim.ok) return podClaim;
      if (podClaim.value === undefined) continue;
      const info = yield* this.#checkClaim(pod, podClaim.value);
      if (!info.ok) return info;
      infos.push(info.value);
    }
    return ok(infos);
  }

  *#checkClaim(pod: Pod, podClaim: PodClaim): DraSteps<Result<ClaimInfo, string>> {
    const { name } = podClaim;
    const { namespace } = pod.metadata;
    const answer = yield { method: "GetClaim", namespace, name };
    if (answer.kind !== "claim") {
      const reason = answer.kind === "failed" ? answer.error : "no claim in the answer";
      return err(`fetch ResourceClaim ${name}: ${reason}`);
    }
    const problem = claimProblem(pod, podClaim, answer.claim);
    if (problem !== undefined) return err(problem);
    const info = newClaimInfo(answer.claim);
    if (info === undefined) return err(`ResourceClaim ${name}: not allocated`);
    for (const driver of info.drivers.keys()) {
      const plugin = this.#drivers.choose(driver);
      if (!plugin.ok) return plugin;
    }
    return ok(info);
  }

  /** Notes that the pod uses the claims; returns those that have to be prepared. */
  *#reference(pod: Pod, infos: readonly ClaimInfo[]): DraSteps<Result<ClaimInfo[], string>> {
    const pending: ClaimInfo[] = [];
    for (const info of infos) {
      const known = this.claims.get(info.namespace, info.name) ?? info;
      if (known.uid !== info.uid) {
        return err(
          `old ResourceClaim with same name ${info.name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
        );
      }
      const used = { ...known, pods: new Set([...known.pods, pod.metadata.uid]) };
      this.claims.set(used);
      // Before any driver is called: if the agent dies meanwhile, the next one gives the claim back.
      const saved = yield* saveCheckpoint("checkpoint ResourceClaim cache");
      if (!saved.ok) return saved;
      if (!used.isPrepared) pending.push(used);
    }
    return ok(pending);
  }

  /** One call per driver, in the order of their names: upstream's is random. */
  #batches(claims: readonly ClaimInfo[]): Result<Batch[], string> {
    const drivers = new Set(claims.flatMap((claim) => [...claim.drivers.keys()]));
    const batches: Batch[] = [];
    for (const driver of [...drivers].toSorted(compareText)) {
      const plugin = this.#drivers.choose(driver);
      if (!plugin.ok) return plugin;
      const own = claims.filter((claim) => claim.drivers.has(driver));
      batches.push({ plugin: plugin.value, claims: own.map(reference) });
    }
    return ok(batches);
  }

  /** The driver's answer replaces what an earlier attempt left. Returns what is wrong with it. */
  #keepDevices(
    { plugin, claims }: Batch,
    results: ReadonlyMap<string, DraClaimResult>,
  ): string | undefined {
    const method = "NodePrepareResources";
    for (const [uid, result] of results) {
      const claim = claims.find((requested) => requested.uid === uid);
      const problem = resultProblem(method, uid, claim, result);
      if (claim === undefined || problem !== undefined) return problem;
      this.#change(claim.namespace, claim.name, ({ drivers }) => ({
        drivers: new Map([...drivers, [plugin.driver, result.devices]]),
      }));
    }
    return skippedProblem(method, claims, results);
  }

  /**
   * Has the claims given back that no other pod uses. Safe to repeat: where the driver of one claim fails, the pod has given back
   * others already, and the pod that has them now is another. `mayGiveBack`: upstream looks at no such thing, which is a defect.
   */
  *unprepare(
    pod: Pod,
    mayGiveBack: (claim: ClaimInfo) => boolean = ({ pods }) => pods.has(pod.metadata.uid),
  ): DraSteps<Outcome> {
    const { uid, namespace } = pod.metadata;
    const names: string[] = [];
    for (const claim of podClaims(pod)) {
      if (!claim.ok) return err(unprepareFailure(claim.error));
      if (claim.value === undefined) continue;
      const { name } = claim.value;
      const known = this.claims.get(namespace, name);
      if (known !== undefined && mayGiveBack(known)) names.push(name);
    }
    const done = yield* this.#unprepare(uid, namespace, names);
    return done.ok ? done : err(unprepareFailure(done.error));
  }

  *#unprepare(pod: PodUid, namespace: string, names: readonly string[]): DraSteps<Outcome> {
    const ending: ClaimInfo[] = [];
    for (const name of names) {
      const claim = this.claims.get(namespace, name);
      if (claim === undefined) continue;
      if (claim.pods.size > 1) {
        const pods = [...claim.pods].filter((user) => user !== pod);
        this.claims.set({ ...claim, pods: new Set(pods) });
      } else ending.push(claim);
    }
    const drivers = new Set(ending.flatMap((claim) => [...claim.drivers.keys()]));
    for (const driver of [...drivers].toSorted(compareText)) {
      const plugin = this.#drivers.choose(driver);
      if (!plugin.ok) return plugin;
      const own = ending.filter((claim) => claim.drivers.has(driver)).map(reference);
      const method = "NodeUnprepareResources";
      const results = yield* callDriver(method, { plugin: plugin.value, claims: own });
      if (!results.ok) return results;
      for (const [uid, result] of results.value) {
        const claim = own.find((requested) => requested.uid === uid);
        const problem = resultProblem(method, uid, claim, result);
        if (problem !== undefined) return err(problem);
      }
      const skipped = skippedProblem(method, own, results.value);
      if (skipped !== undefined) return err(skipped);
    }
    for (const { name } of ending) this.claims.delete(namespace, name);
    return yield* saveCheckpoint("checkpoint ResourceClaim state");
  }

  /** Gives back what pods use that are gone; what fails is tried again the next time. Returns the failures. */
  *reconcile(activePods: ReadonlySet<PodUid>): DraSteps<string[]> {
    const failures: string[] = [];
    const users = new Set(this.claims.all().flatMap(({ pods }) => [...pods]));
    for (const pod of [...users].filter((uid) => !activePods.has(uid)).toSorted(compareText)) {
      const used = this.claims.all().filter(({ pods }) => pods.has(pod));
      const namespace = used[0]?.namespace ?? "";
      const names = used.map(({ name }) => name);
      const done = yield* this.#unprepare(pod, namespace, names);
      if (!done.ok) failures.push(done.error);
    }
    return failures;
  }

  /** Whether a pod's end has to wait for its claims. */
  uses(pod: PodUid): boolean {
    return this.claims.all().some(({ pods }) => pods.has(pod));
  }

  /** The CDI devices of a container; one that several requests name is listed for each. */
  cdiDevices(pod: Pod, container: Container): Result<string[], string> {
    const { namespace } = pod.metadata;
    const claims = claimsOfContainer(pod, container);
    if (!claims.ok) return claims;
    const devices: string[] = [];
    for (const { name, requests } of claims.value) {
      const info = this.claims.get(namespace, name);
      if (info === undefined) {
        return err(
          `internal error: unable to get claim info for ResourceClaim ${name} in namespace ${namespace}`,
        );
      }
      devices.push(...requests.flatMap((request) => cdiDevicesFor(info, request)));
    }
    return ok(devices);
  }

  /** The claims of a container, as the pod-resources API lists them. */
  containerClaims(pod: Pod, container: Container): Result<ClaimInfo[], string> {
    const { namespace } = pod.metadata;
    const found: ClaimInfo[] = [];
    for (const entry of pod.spec.resourceClaims ?? []) {
      if (container.resources?.claims?.some(({ name }) => name === entry.name) !== true) continue;
      const claim = claimOf(pod, entry);
      if (!claim.ok) return claim;
      if (claim.value === undefined) continue;
      const info = this.claims.get(namespace, claim.value.name);
      if (info === undefined) {
        return err(`unable to get information for ResourceClaim ${claim.value.name}`);
      }
      found.push(info);
    }
    const extended = pod.status?.extendedResourceClaimStatus;
    if (extended === undefined || extendedRequests(pod, container).length === 0) return ok(found);
    const name = extended.resourceClaimName;
    const info = this.claims.get(namespace, name);
    return info === undefined
      ? err(`unable to get claim info for claim ${name} in namespace ${namespace}`)
      : ok([...found, info]);
  }

  #change(namespace: string, name: string, change: (info: ClaimInfo) => Partial<ClaimInfo>): void {
    const info = this.claims.get(namespace, name);
    if (info !== undefined) this.claims.set({ ...info, ...change(info) });
  }
}

/** undefined: the claim is not allocated. */
function newClaimInfo({ metadata, status }: ResourceResourceClaim): ClaimInfo | undefined {
  if (status?.allocation === undefined) return undefined;
  const results = status.allocation.devices?.results ?? [];
  return {
    uid: metadata?.uid ?? "",
    name: metadata?.name ?? "",
    namespace: metadata?.namespace ?? "",
    pods: new Set(),
    drivers: new Map(results.map(({ driver }) => [driver, []])),
    isPrepared: false,
  };
}

function reference({ namespace, name, uid }: ClaimInfo): ClaimReference {
  return { namespace, name, uid };
}

function unprepareFailure(error: string): string {
  return `unprepare dynamic resources: ${error}`;
}

type DriverMethod = "NodePrepareResources" | "NodeUnprepareResources";

function* callDriver(
  method: DriverMethod,
  { plugin, claims }: Batch,
): DraSteps<Result<ReadonlyMap<string, DraClaimResult>, string>> {
  const answer = yield { method, plugin, claims };
  if (answer.kind === "failed") return err(`${method}: ${answer.error}`);
  return ok(answer.kind === "results" ? answer.results : new Map<string, DraClaimResult>());
}

function* saveCheckpoint(what: string): DraSteps<Outcome> {
  const saved = yield { method: "SaveCheckpoint" };
  return saved.kind === "failed" ? err(`${what}: ${saved.error}`) : ok(undefined);
}

function resultProblem(
  method: DriverMethod,
  uid: string,
  claim: ClaimReference | undefined,
  { error }: DraClaimResult,
): string | undefined {
  if (claim === undefined) return `${method} returned result for unknown claim UID ${uid}`;
  return error === "" ? undefined : `${method} failed for ResourceClaim ${claim.name}: ${error}`;
}

function skippedProblem(
  method: DriverMethod,
  claims: readonly ClaimReference[],
  results: ReadonlyMap<string, DraClaimResult>,
): string | undefined {
  const skipped = claims.length - results.size;
  return skipped === 0 ? undefined : `${method} skipped ${skipped} ResourceClaims`;
}
