import type { ObjectMeta } from "../../model/generated/kubernetes.ts";
import type { WatchEvent } from "../../ports/api-client.ts";

/** What every object of the API server has. */
export interface ApiObject {
  readonly metadata?: ObjectMeta | undefined;
}

/** By namespace/name; by name alone where there is no namespace. */
export function objectKey({ metadata }: ApiObject): string {
  const { namespace = "", name = "" } = metadata ?? {};
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** The objects that the API server holds, as of one resource version. */
export class ObjectSet<T extends ApiObject> {
  #items = new Map<string, T>();
  #resourceVersion = "";

  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Takes a complete set; answers the keys of what is new, other or gone. */
  replace(objects: Iterable<T>, resourceVersion: string): Set<string> {
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
    this.#resourceVersion = resourceVersion;
    return changed;
  }

  /** Takes one change; answers the key of what is different now, and undefined for what was known already. */
  apply({ type, object }: WatchEvent<T>): string | undefined {
    const key = objectKey(object);
    const version = object.metadata?.resourceVersion ?? "";
    const isOld = isAtMost(version, this.#resourceVersion);
    if (!isOld && version !== "") this.#resourceVersion = version;
    const held = this.#items.get(key);
    switch (type) {
      case "BOOKMARK":
        return undefined;
      case "DELETED":
        // A repeated deletion must not take away an object that was made anew since.
        if (held === undefined || isBefore(version, held.metadata?.resourceVersion))
          return undefined;
        this.#items.delete(key);
        return key;
      case "ADDED":
      case "MODIFIED":
        if (isOld) return undefined;
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

/** Whether `one` is an earlier state of the object than `other`, as far as that can be told. */
export function isEarlier(one: ApiObject, other: ApiObject): boolean {
  return isBefore(one.metadata?.resourceVersion ?? "", other.metadata?.resourceVersion);
}

function isBefore(version: string, other: string | undefined): boolean {
  return other !== undefined && version !== other && isAtMost(version, other);
}

// The server's versions are decimal numbers of any size; what is not a number is not compared.
function isAtMost(version: string, other: string): boolean {
  if (!/^[0-9]+$/.test(version) || !/^[0-9]+$/.test(other)) return false;
  return BigInt(version) <= BigInt(other);
}
