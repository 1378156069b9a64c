// Room for a critical pod: which pods have to go so that it can be admitted.
import { err, ok, type Result } from "../../lib/result.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import {
  addQuantity,
  isZeroQuantity,
  quantityMilliValue,
  quantityValue,
} from "../../model/quantity.ts";
import { isCriticalPod } from "../resource/critical.ts";
import { hasPodLevelResources, podRequests } from "../resource/pod-resources.ts";
import { podQosClass } from "../resource/qos.ts";
import { amountOf, resourceList } from "../resource/resource-list.ts";
import { type AdmissionResult, admitted } from "./admission.ts";
import { fitRejection, nodeMismatch } from "./node-admission.ts";
import { type FitFailure, nodeFitFailures } from "./node-fit.ts";

/** A pod that takes part, with what it asks for. */
interface Candidate {
  readonly pod: Pod;
  readonly requested: (resource: string) => bigint;
}

interface Requirement {
  readonly resource: string;
  readonly amount: bigint;
}

/** Whether a pod fits on the node beside the others. A critical pod may have room made for it: `victims` end before it starts. */
export function admitWithPreemption(
  pod: Pod,
  otherPods: readonly Pod[],
  node: Node,
): { readonly result: AdmissionResult; readonly victims: readonly Pod[] } {
  const mismatch = nodeMismatch(pod, node);
  if (mismatch !== undefined) return { result: mismatch, victims: [] };
  const plan = planPreemption(pod, otherPods, nodeFitFailures(pod, otherPods, node));
  return plan.ok ? { result: admitted, victims: plan.value } : { result: plan.error, victims: [] };
}

/**
 * The pods to end so that a pod with these failures fits; the rejection where that cannot help.
 * Only a critical pod gets room made for it, and only where nothing but room is missing.
 */
export function planPreemption(
  pod: Pod,
  activePods: readonly Pod[],
  failures: readonly FitFailure[],
): Result<readonly Pod[], AdmissionResult> {
  const [first] = failures;
  if (first === undefined) return ok([]);
  if (!isCriticalPod(pod)) return err(fitRejection(first));
  const other = failures.find(({ kind }) => kind === "predicate");
  if (other !== undefined) return err(fitRejection(other));
  const requirements = failures.flatMap((failure) =>
    failure.kind === "resource"
      ? [
          {
            resource: failure.resource,
            amount: failure.requested - (failure.capacity - failure.used),
          },
        ]
      : [],
  );
  const victims = chooseVictims(pod, activePods, requirements);
  // The message names what the node lacks; that no pod could be preempted would not help.
  return victims === undefined ? err(fitRejection(first)) : ok(victims);
}

/** Spares guaranteed pods before burstable ones, and those before best-effort ones; undefined when all would not do. */
function chooseVictims(
  preemptor: Pod,
  activePods: readonly Pod[],
  requirements: readonly Requirement[],
): readonly Pod[] | undefined {
  const candidates = activePods.filter((pod) => isPreemptable(preemptor, pod)).map(candidateOf);
  const ofClass = (qosClass: string) =>
    candidates.filter(({ pod }) => podQosClass(pod) === qosClass);
  const bestEffort = ofClass("BestEffort");
  const burstable = ofClass("Burstable");
  if (remaining(requirements, candidates).length > 0) return undefined;
  const guaranteedGo = chooseNearest(
    ofClass("Guaranteed"),
    remaining(requirements, [...bestEffort, ...burstable]),
  );
  if (guaranteedGo === undefined) return undefined;
  const burstableGo = chooseNearest(
    burstable,
    remaining(requirements, [...bestEffort, ...guaranteedGo]),
  );
  if (burstableGo === undefined) return undefined;
  const bestEffortGo = chooseNearest(
    bestEffort,
    remaining(requirements, [...burstableGo, ...guaranteedGo]),
  );
  if (bestEffortGo === undefined) return undefined;
  const all = [...bestEffortGo, ...burstableGo, ...guaranteedGo];
  return all.map(({ pod }) => pod);
}

/** Takes again and again the pod that covers most of what is still missing. */
function chooseNearest(
  candidates: readonly Candidate[],
  requirements: readonly Requirement[],
): readonly Candidate[] | undefined {
  const left = [...candidates];
  const chosen: Candidate[] = [];
  let missing = requirements;
  while (missing.length > 0) {
    const nearest = nearestIndex(left, missing);
    const candidate = left[nearest];
    const last = left.pop();
    if (candidate === undefined || last === undefined) return undefined;
    if (candidate !== last) left[nearest] = last;
    chosen.push(candidate);
    missing = remaining(missing, [candidate]);
  }
  return chosen;
}

function nearestIndex(
  candidates: readonly Candidate[],
  requirements: readonly Requirement[],
): number {
  let best = 0;
  let bestDistance = requirements.length + 1;
  for (const [index, candidate] of candidates.entries()) {
    const distance = distanceTo(requirements, candidate);
    const isSmaller = distance === bestDistance && !asksForMore(candidate, candidates[best]);
    if (distance < bestDistance || isSmaller) {
      best = index;
      bestDistance = distance;
    }
  }
  return best;
}

/** Every requirement weighs the same, whatever its size. */
function distanceTo(requirements: readonly Requirement[], { requested }: Candidate): number {
  return requirements.reduce((sum, { resource, amount }) => {
    const uncovered = Number(amount - requested(resource));
    return uncovered > 0 ? sum + (uncovered / Number(amount)) ** 2 : sum;
  }, 0);
}

function asksForMore(candidate: Candidate, other: Candidate | undefined): boolean {
  for (const resource of ["memory", "cpu"]) {
    const difference = candidate.requested(resource) - (other?.requested(resource) ?? 0n);
    if (difference !== 0n) return difference > 0n;
  }
  return false;
}

function remaining(
  requirements: readonly Requirement[],
  gone: readonly Candidate[],
): Requirement[] {
  return requirements
    .map(({ resource, amount }) => ({
      resource,
      amount: gone.reduce((left, { requested }) => left - requested(resource), amount),
    }))
    .filter(({ amount }) => amount > 0n);
}

/** A critical pod goes before one that is not; otherwise the higher priority does. */
function isPreemptable(preemptor: Pod, pod: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const [higher, lower] = [preemptor.spec.priority, pod.spec.priority];
  return higher !== undefined && lower !== undefined && higher > lower;
}

/** Overhead counts only with a request. */
function candidateOf(pod: Pod): Candidate {
  const requests = podRequests(pod, {
    excludeOverhead: true,
    excludeContainers: hasPodLevelResources(pod),
  });
  const overhead = resourceList(pod.spec.overhead);
  const requested = (resource: string): bigint => {
    if (resource === "pods") return 1n;
    const amount = amountOf(requests, resource);
    const units = resource === "cpu" ? quantityMilliValue : quantityValue;
    return isZeroQuantity(amount) ? 0n : units(addQuantity(amount, amountOf(overhead, resource)));
  };
  return { pod, requested };
}
