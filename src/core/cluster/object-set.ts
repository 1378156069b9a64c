import type { ObjectMeta } from "../../model/generated/kubernetes.ts";
import type { WatchEvent } from "../../model/watch-event.ts";
import { isAtMost } from "./resource-version.ts";

/** What every object of the API server has. */
export interface ApiObject {
  readonly metadata?: ObjectMeta | undefined;
}

/** By namespace/name; by name alone where there is no namespace. */
export function objectKey({ metadata }: ApiObject): string {
  const { namespace = "", name = "" } = metadata ?? {};
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** The objects of a collection, by key. */
export class ObjectSet<T extends ApiObject> {
  #items = new Map<string, T>();

  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  /** Takes a complete set; returns the keys of what was added, changed or removed. */
  replace(objects: Iterable<T>): Set<string> {
    const before = this.#items;
    const items = new Map<string, T>();
    for (const object of objects) items.set(objectKey(object), object);
    const changed = new Set<string>();
    for (const [key, object] of items) {
      const earlier = before.get(key);
      if (earlier === undefined || !isSame(earlier, object)) changed.add(key);
    }
    for (const key of before.keys()) if (!items.has(key)) changed.add(key);
    this.#items = items;
    return changed;
  }

  /** Takes one event; returns the key of the object that changed, if one did. */
  apply({ type, object }: WatchEvent<T>): string | undefined {
    const key = objectKey(object);
    const held = this.#items.get(key);
    switch (type) {
      case "BOOKMARK":
        return undefined;
      case "DELETED":
        // A repeated deletion must not remove an object of the same name that was created since.
        if (held === undefined || isEarlier(object, held)) return undefined;
        this.#items.delete(key);
        return key;
      case "ADDED":
      case "MODIFIED":
        this.#items.set(key, object);
        return key;
    }
  }
}

function isSame(one: ApiObject, other: ApiObject): boolean {
  return (
    one.metadata?.uid === other.metadata?.uid &&
    one.metadata?.resourceVersion === other.metadata?.resourceVersion
  );
}

/** Whether `one` is an earlier state of the object than `other`; false where the versions cannot be compared. */
export function isEarlier(one: ApiObject, other: ApiObject): boolean {
  const version = one.metadata?.resourceVersion ?? "";
  const otherVersion = other.metadata?.resourceVersion ?? "";
  return version !== otherVersion && isAtMost(version, otherVersion);
}

/** What the API server has, of an object that is watched and that it also answered with: the watch may come later. */
export function newestOf<T extends ApiObject>(
  watched: T | undefined,
  answered: T | undefined,
): T | undefined {
  if (watched === undefined || answered === undefined) return watched;
  const isSameObject = answered.metadata?.uid === watched.metadata?.uid;
  return isSameObject && isEarlier(watched, answered) ? answered : watched;
}
