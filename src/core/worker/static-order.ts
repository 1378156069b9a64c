/** Which static pod of each full name runs, and which ones wait behind it in the order they came. */
export interface StaticOrder {
  readonly startedByFullName: ReadonlyMap<string, string>;
  readonly waitingByFullName: ReadonlyMap<string, readonly string[]>;
}

export const emptyStaticOrder: StaticOrder = {
  startedByFullName: new Map(),
  waitingByFullName: new Map(),
};

export interface StaticTurn {
  readonly order: StaticOrder;
  readonly granted: boolean;
}

/** A static pod came: it starts after those of its name that came before. */
export function joinStaticOrder(order: StaticOrder, fullName: string, uid: string): StaticOrder {
  const waiting = order.waitingByFullName.get(fullName) ?? [];
  return withWaiting(order, fullName, [...waiting, uid]);
}

/** A pod ended: its name is free again, if it held it. */
export function leaveStaticOrder(order: StaticOrder, fullName: string, uid: string): StaticOrder {
  if (order.startedByFullName.get(fullName) !== uid) return order;
  const startedByFullName = new Map(order.startedByFullName);
  startedByFullName.delete(fullName);
  return { ...order, startedByFullName };
}

/** Gives the name to the pod if no other holds it and nobody who can still start came before. */
export function takeStaticTurn(
  order: StaticOrder,
  fullName: string,
  uid: string,
  canStillStart: (uid: string) => boolean,
): StaticTurn {
  const started = order.startedByFullName.get(fullName);
  if (started !== undefined) return { order, granted: started === uid };
  const waiting = order.waitingByFullName.get(fullName) ?? [];
  const next = waiting.findIndex(canStillStart);
  if (next >= 0 && waiting[next] !== uid) {
    return { order: withWaiting(order, fullName, waiting.slice(next)), granted: false };
  }
  const startedByFullName = new Map(order.startedByFullName).set(fullName, uid);
  const rest = next < 0 ? waiting : waiting.slice(next + 1);
  return { order: { ...withWaiting(order, fullName, rest), startedByFullName }, granted: true };
}

function withWaiting(
  order: StaticOrder,
  fullName: string,
  waiting: readonly string[],
): StaticOrder {
  const waitingByFullName = new Map(order.waitingByFullName);
  if (waiting.length === 0) waitingByFullName.delete(fullName);
  else waitingByFullName.set(fullName, waiting);
  return { ...order, waitingByFullName };
}
