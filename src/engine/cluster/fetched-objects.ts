import { type ApiObject, isEarlier } from "../../core/cluster/object-set.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  collectionPath,
  type NeededObjects,
  notRegistered,
  type ObjectKind,
  type ObjectName,
} from "./needed-objects.ts";
import { ObjectUsers } from "./object-users.ts";

export interface FetchedObjectsDeps {
  readonly api: ApiClient;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly kind: ObjectKind;
  /** How long an object serves before it is read again. */
  readonly ttlMs: () => number;
}

interface Fetched<T> {
  found: Result<T, LookUpFailure> | undefined;
  /** Undefined until the server has said whether there is one. */
  readAtMs: number | undefined;
}

/** Reads objects one by one when a pod is about to use them, unless they were read a short time ago. */
export class FetchedObjects<T extends ApiObject> implements NeededObjects<T> {
  readonly #deps: FetchedObjectsDeps;
  readonly #users = new ObjectUsers<Fetched<T>>(
    () => ({ found: undefined, readAtMs: undefined }),
    () => undefined,
  );

  constructor(deps: FetchedObjectsDeps) {
    this.#deps = deps;
  }

  setNeeded(podUid: string, objects: readonly ObjectName[]): void {
    this.#users.setNeeded(podUid, objects);
  }

  async refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void> {
    await Promise.all(objects.map((object) => this.#refresh(object, signal)));
  }

  get(object: ObjectName): Result<T, LookUpFailure> {
    return this.#users.get(object)?.found ?? err(notRegistered(object));
  }

  async #refresh(object: ObjectName, signal: AbortSignal): Promise<void> {
    const { api, clock, kind, ttlMs } = this.#deps;
    const item = this.#users.get(object);
    if (item === undefined) return;
    const { readAtMs, found } = item;
    const nowMs = clock.monotonicMs();
    const isFresh = readAtMs !== undefined && nowMs < readAtMs + ttlMs();
    if (isFresh && found?.ok === true) return;
    try {
      const path = `${collectionPath(kind, object.namespace)}/${encodeURIComponent(object.name)}`;
      // What is only looked at again may come from the server's cache.
      const query = found?.ok === true ? { resourceVersion: "0" } : undefined;
      const read = await api.send<T>({ method: "GET", path, query }, signal);
      if (found?.ok !== true || !isEarlier(read, found.value)) item.found = ok(read);
      item.readAtMs = nowMs;
    } catch (error) {
      signal.throwIfAborted();
      const message = errorText(error);
      if (isApiStatus(error, 404)) {
        item.found = err({ code: "not-found", message });
        item.readAtMs = nowMs;
      } else if (readAtMs === undefined) {
        item.found = err({ code: "failed", message });
      }
    }
  }
}
