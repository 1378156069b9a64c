/** A container by its name in its pod, whatever ID the runtime gave it. */
export interface ContainerRef {
  readonly podUid: string;
  readonly container: string;
}

export function isSameContainer(a: ContainerRef, b: ContainerRef): boolean {
  return a.podUid === b.podUid && a.container === b.container;
}
