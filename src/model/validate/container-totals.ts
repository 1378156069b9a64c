import type { Container, PodSpec } from "../generated/kubernetes.ts";
import { addQuantity, compareQuantity, mustParseQuantity, type Quantity } from "../quantity.ts";

type Totals = Map<string, Quantity>;
type Kind = "requests" | "limits";

/** What the containers of a spec ask for together at most, at any moment of the pod's life. */
export function containerRequests(spec: PodSpec): ReadonlyMap<string, Quantity> {
  return totalsOf(spec, "requests");
}

/** What the containers of a spec may use together at most, at any moment of the pod's life. */
export function containerLimits(spec: PodSpec): ReadonlyMap<string, Quantity> {
  return totalsOf(spec, "limits");
}

function totalsOf(spec: PodSpec, kind: Kind): Totals {
  const totals: Totals = new Map();
  for (const container of spec.containers) add(totals, amountsOf(container, kind));
  const sidecars: Totals = new Map();
  const starting: Totals = new Map();
  for (const container of spec.initContainers ?? []) {
    const amounts = amountsOf(container, kind);
    if (container.restartPolicy === "Always") {
      add(totals, amounts);
      add(sidecars, amounts);
      raise(starting, sidecars);
    } else {
      add(amounts, sidecars);
      raise(starting, amounts);
    }
  }
  raise(totals, starting);
  return totals;
}

function amountsOf(container: Container, kind: Kind): Totals {
  return new Map(
    Object.entries(container.resources?.[kind] ?? {}).map(
      ([name, text]) => [name, mustParseQuantity(text)] as const,
    ),
  );
}

function add(totals: Totals, amounts: ReadonlyMap<string, Quantity>): void {
  for (const [name, amount] of amounts) {
    const present = totals.get(name);
    totals.set(name, present === undefined ? amount : addQuantity(present, amount));
  }
}

function raise(totals: Totals, amounts: ReadonlyMap<string, Quantity>): void {
  for (const [name, amount] of amounts) {
    const present = totals.get(name);
    if (present === undefined || compareQuantity(amount, present) > 0) totals.set(name, amount);
  }
}
