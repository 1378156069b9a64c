import {
  addQuantity,
  compareQuantity,
  mustParseQuantity,
  type Quantity,
  zeroQuantity,
} from "../../model/quantity.ts";

/** Amounts by resource name. */
export type ResourceList = ReadonlyMap<string, Quantity>;

export const hugePagesPrefix = "hugepages-";

/** A resource list of the API as amounts; its quantities were checked at the border. */
export function resourceList(list: Readonly<Record<string, string>> | undefined): ResourceList {
  return new Map(
    Object.entries(list ?? {}).map(([name, text]) => [name, mustParseQuantity(text)] as const),
  );
}

export function amountOf(list: ResourceList, name: string): Quantity {
  return list.get(name) ?? zeroQuantity;
}

/** The sum by name. */
export function addResourceLists(...lists: readonly ResourceList[]): Map<string, Quantity> {
  return merge(lists, addQuantity);
}

/** The greatest amount by name; of equal ones the first. */
export function maxResourceLists(...lists: readonly ResourceList[]): Map<string, Quantity> {
  return merge(lists, (a, b) => (compareQuantity(b, a) > 0 ? b : a));
}

function merge(
  lists: readonly ResourceList[],
  combine: (a: Quantity, b: Quantity) => Quantity,
): Map<string, Quantity> {
  const result = new Map<string, Quantity>();
  for (const list of lists) {
    for (const [name, amount] of list) {
      const present = result.get(name);
      result.set(name, present === undefined ? amount : combine(present, amount));
    }
  }
  return result;
}
