import type { Pod } from "../../model/pod.ts";
import { compareQuantity } from "../../model/quantity.ts";
import { podRequests } from "../resource/pod-resources.ts";
import { podQosClass } from "../resource/qos.ts";
import { amountOf } from "../resource/resource-list.ts";

/** A pod that waits for a resize. */
export interface WaitingResize {
  readonly pod: Pod;
  /** The pod with what it was granted. */
  readonly allocated: Pod;
  /** Since when the resize is known to wait; undefined before it was tried. */
  readonly sinceMs: number | undefined;
}

/**
 * The order in which resizes are tried: those that ask for no more than they have, then by priority, then
 * guaranteed pods, then those that wait longest. Newer ones of the first kind come first.
 */
export function sortResizes(waiting: readonly WaitingResize[]): WaitingResize[] {
  const sorted: WaitingResize[] = [];
  for (const resize of waiting) {
    let place = sorted.length;
    while (place > 0 && goesBefore(resize, sorted[place - 1])) place--;
    sorted.splice(place, 0, resize);
  }
  return sorted;
}

function goesBefore(a: WaitingResize, b: WaitingResize | undefined): boolean {
  if (b === undefined || !asksForMore(a)) return true;
  if (!asksForMore(b)) return false;
  const [priority, otherPriority] = [a.pod.spec.priority ?? 0, b.pod.spec.priority ?? 0];
  if (priority !== otherPriority) return priority > otherPriority;
  const isGuaranteed = podQosClass(a.pod) === "Guaranteed";
  if (isGuaranteed !== (podQosClass(b.pod) === "Guaranteed")) return isGuaranteed;
  if (a.sinceMs === undefined) return false;
  return b.sinceMs === undefined || a.sinceMs < b.sinceMs;
}

function asksForMore({ pod, allocated }: WaitingResize): boolean {
  if (pod === allocated) return false;
  const wanted = podRequests(pod);
  const granted = podRequests(allocated);
  return ["memory", "cpu"].some(
    (name) => compareQuantity(amountOf(wanted, name), amountOf(granted, name)) > 0,
  );
}
