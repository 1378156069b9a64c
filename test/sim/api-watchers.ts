import type { WatchEvent } from "../../src/model/watch-event.ts";
import type { ApiPath } from "./api-path.ts";
import { matchesSelectors } from "./api-selectors.ts";

/** An object as the server keeps it. */
export interface StoredObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: StoredMeta;
  readonly [field: string]: unknown;
}

interface StoredMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly [field: string]: unknown;
}

export interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly collection: string;
  readonly object: StoredObject;
  readonly before: StoredObject | undefined;
}

export interface Watcher {
  readonly path: ApiPath;
  readonly query: Readonly<Record<string, string>>;
  readonly onEvent: (event: WatchEvent<StoredObject>) => void;
  readonly end: (error?: unknown) => void;
}

/** An object that comes to match a selector is new to the watcher, one that ceases to is gone. */
export function notify(watcher: Watcher, change: Change): void {
  if (change.collection !== watcher.path.collection) return;
  const matches = (object: StoredObject | undefined): boolean =>
    object !== undefined &&
    isBelow(object, watcher.path) &&
    matchesSelectors(object, watcher.query);
  const wasThere = matches(change.before);
  const isThere = change.type !== "DELETED" && matches(change.object);
  if (isThere) watcher.onEvent({ type: wasThere ? "MODIFIED" : "ADDED", object: change.object });
  else if (wasThere) watcher.onEvent({ type: "DELETED", object: change.object });
}

/** Whether the path is of the object, or of a collection that it is in. */
export function isBelow({ metadata }: StoredObject, path: ApiPath): boolean {
  return (
    (path.namespace === "" || metadata.namespace === path.namespace) &&
    (path.name === "" || metadata.name === path.name)
  );
}
