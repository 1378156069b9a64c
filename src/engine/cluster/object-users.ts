import { nameKey, type ObjectName } from "./needed-objects.ts";

/** Counts which pods refer to which objects; each object is started with its first user and stopped with its last. */
export class ObjectUsers<Item> {
  readonly #start: (object: ObjectName) => Item;
  readonly #stop: (item: Item) => void;
  readonly #items = new Map<string, { readonly item: Item; readonly podUids: Set<string> }>();
  readonly #byPod = new Map<string, ReadonlySet<string>>();

  constructor(start: (object: ObjectName) => Item, stop: (item: Item) => void) {
    this.#start = start;
    this.#stop = stop;
  }

  get(object: ObjectName): Item | undefined {
    return this.#items.get(nameKey(object))?.item;
  }

  podsOf(object: ObjectName): readonly string[] {
    return [...(this.#items.get(nameKey(object))?.podUids ?? [])];
  }

  setNeeded(podUid: string, objects: readonly ObjectName[]): void {
    for (const object of objects) this.#add(object, podUid);
    const needed = new Set(objects.map(nameKey));
    for (const key of this.#byPod.get(podUid) ?? []) {
      if (!needed.has(key)) this.#remove(key, podUid);
    }
    if (needed.size === 0) this.#byPod.delete(podUid);
    else this.#byPod.set(podUid, needed);
  }

  #add(object: ObjectName, podUid: string): void {
    const key = nameKey(object);
    const known = this.#items.get(key) ?? { item: this.#start(object), podUids: new Set<string>() };
    this.#items.set(key, known);
    known.podUids.add(podUid);
  }

  #remove(key: string, podUid: string): void {
    const known = this.#items.get(key);
    known?.podUids.delete(podUid);
    if (known === undefined || known.podUids.size > 0) return;
    this.#items.delete(key);
    this.#stop(known.item);
  }
}
