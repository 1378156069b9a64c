import { type ApiObject, isEarlier } from "../../core/cluster/object-set.ts";
import type { ObjectName, ReferencedKind } from "../../core/cluster/pod-references.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import { collectionPath, type NeededObjects, nameKey, notRegistered } from "./needed-objects.ts";
import type { Reflector } from "./reflector.ts";

const defaultTtlMs = 60_000;

export interface FetchedObjectsDeps {
  readonly api: ApiClient;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly kind: ReferencedKind;
  /** This node, by whose annotation objects are cached for some time; undefined = they are read for each use. */
  readonly nodes: Pick<Reflector<Node>, "items"> | undefined;
}

interface Fetched<T> {
  found: Result<T, LookUpFailure> | undefined;
  /** Undefined until the server has said whether there is one. */
  readAtMs: number | undefined;
}

/** Reads objects one by one when a pod is about to use them, unless they were read a short time ago. */
export class FetchedObjects<T extends ApiObject> implements NeededObjects<T> {
  readonly #deps: FetchedObjectsDeps;
  readonly #fetched = new Map<string, Fetched<T>>();

  constructor(deps: FetchedObjectsDeps) {
    this.#deps = deps;
  }

  keep(object: ObjectName): void {
    const key = nameKey(object);
    if (this.#fetched.has(key)) return;
    this.#fetched.set(key, { found: undefined, readAtMs: undefined });
  }

  drop(object: ObjectName): void {
    this.#fetched.delete(nameKey(object));
  }

  async refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void> {
    await Promise.all(objects.map((object) => this.#refresh(object, signal)));
  }

  get(object: ObjectName): Result<T, LookUpFailure> {
    return this.#fetched.get(nameKey(object))?.found ?? err(notRegistered(object));
  }

  async #refresh(object: ObjectName, signal: AbortSignal): Promise<void> {
    const { api, clock, kind, nodes } = this.#deps;
    const item = this.#fetched.get(nameKey(object));
    if (item === undefined) return;
    const { readAtMs, found } = item;
    const nowMs = clock.monotonicMs();
    const isFresh = readAtMs !== undefined && nowMs < readAtMs + ttlMs(nodes);
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

/** The more nodes a cluster has, the longer it wants them to cache objects. */
function ttlMs(nodes: FetchedObjectsDeps["nodes"]): number {
  if (nodes === undefined) return 0;
  const [node] = nodes.items.values();
  const text = node?.metadata?.annotations?.["node.alpha.kubernetes.io/ttl"] ?? "";
  return /^\d+$/.test(text) ? Number(text) * 1000 : defaultTtlMs;
}
