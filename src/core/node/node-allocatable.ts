import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  isZeroQuantity,
  type Quantity,
  subtractQuantity,
  wholeQuantity,
} from "../../model/quantity.ts";
import { type Threshold, thresholdQuantity } from "../eviction/threshold.ts";
import { amountOf, type ResourceList } from "../resource/resource-list.ts";

const evictedResources: ReadonlyMap<string, string> = new Map([
  ["memory.available", "memory"],
  ["nodefs.available", "ephemeral-storage"],
]);

/** What of a node's capacity is not for pods. */
export interface NodeReservations {
  readonly kubeReserved: ResourceList;
  readonly systemReserved: ResourceList;
  /** Of all thresholds, those that evict pods at once count. */
  readonly hardThresholds: readonly Threshold[];
}

/** What pods together are held to: the capacity without what is reserved; eviction thresholds do not count. */
export function enforcedAllocatable(
  capacity: ResourceList,
  { kubeReserved, systemReserved }: NodeReservations,
): ResourceList {
  return new Map(
    [...capacity].map(([name, amount]) => {
      const rest = subtractQuantity(
        subtractQuantity(amount, amountOf(systemReserved, name)),
        amountOf(kubeReserved, name),
      );
      return [name, rest.unscaled < 0n ? wholeQuantity(0n, rest.format) : rest] as const;
    }),
  );
}

/** What is kept from the scheduler: what is reserved, and what pods are evicted for. */
export function allocatableReservation(
  capacity: ResourceList,
  reservations: NodeReservations,
): ResourceList {
  const eviction = evictionReservation(capacity, reservations.hardThresholds);
  const result = new Map<string, Quantity>();
  for (const name of capacity.keys()) {
    const amount = [reservations.systemReserved, reservations.kubeReserved, eviction]
      .map((list) => amountOf(list, name))
      .reduce(addQuantity, wholeQuantity(0n, "DecimalSI"));
    if (!isZeroQuantity(amount)) result.set(name, amount);
  }
  return result;
}

/** What is wrong with reserving more than there is; undefined when nothing is. */
export function allocatableProblem(
  capacity: ResourceList,
  reservations: NodeReservations,
): string | undefined {
  const problems = [...allocatableReservation(capacity, reservations)]
    .filter(([name, amount]) => compareQuantity(amountOf(capacity, name), amount) < 0)
    .map(
      ([name, amount]) =>
        `Resource "${name}" has a reservation of ${describeQuantity(amount)} but capacity of ` +
        `${describeQuantity(amountOf(capacity, name))}. Expected capacity >= reservation.`,
    );
  return problems.length === 0
    ? undefined
    : `invalid Node Allocatable configuration. ${problems.join(" ")}`;
}

function evictionReservation(
  capacity: ResourceList,
  thresholds: readonly Threshold[],
): ResourceList {
  const result = new Map<string, Quantity>();
  for (const { signal, operator, value } of thresholds) {
    if (operator !== "LessThan") continue;
    const name = evictedResources.get(signal);
    if (name !== undefined) result.set(name, thresholdQuantity(value, amountOf(capacity, name)));
  }
  return result;
}

/** The fields of a quantity, as the kubelet's own message shows them. */
function describeQuantity(amount: Quantity): string {
  if (amount.size === "big") return formatQuantity(amount);
  return `{{${amount.unscaled} ${amount.exponent}} {<nil>} ${amount.text ?? ""} ${amount.format}}`;
}
