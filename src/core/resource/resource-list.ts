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

const nothing: ResourceList = new Map();

// The lists of a pod are read at every sync, and lists are immutable.
const read = new WeakMap<object, ResourceList>();

/** A resource list of the API as amounts; its quantities were checked at the border. */
export function resourceList(list: Readonly<Record<string, string>> | undefined): ResourceList {
  if (list === undefined) return nothing;
  const known = read.get(list);
  if (known !== undefined) return known;
  const amounts = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(list)) amounts.set(name, mustParseQuantity(text));
  read.set(list, amounts);
  return amounts;
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
