import type { ApiObject } from "../../core/cluster/object-set.ts";
import type { ObjectName, ReferencedKind } from "../../core/cluster/pod-references.ts";
import type { BackoffLimits } from "../../lib/backoff.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { withEither } from "../../lib/with-either.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import {
  collectionPath,
  type NeededObjects,
  nameKey,
  notRegistered,
  singular,
} from "./needed-objects.ts";
import type { ObjectUsers } from "./object-users.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";
import { whenSynced } from "./when-synced.ts";

/** There are many of these watches, and most objects hardly change. */
const watchMs = 30 * 60_000;
/** A server that just bound a pod may not know yet that its node may see the pod's objects, but will in a moment. */
const backoff: BackoffLimits = { initialMs: 100, maxMs: 30_000 };

export interface WatchedObjectsDeps
  extends Pick<ReflectorOptions<unknown>, "api" | "clock" | "random" | "log"> {
  readonly kind: ReferencedKind;
  /** Notified of objects that changed, or came late. */
  readonly users: Pick<ObjectUsers, "noteChange">;
  readonly lifetime: AbortSignal;
}

interface Watched<T> {
  readonly reflector: Reflector<T & ApiObject>;
  readonly stop: AbortController;
  /** A pod was synced without it, and has to be synced again when it comes. */
  isMissed: boolean;
}

/** Watches each object on its own for as long as a pod refers to it. */
export class WatchedObjects<T extends ApiObject & { readonly immutable?: boolean | undefined }>
  implements NeededObjects<T>
{
  readonly #deps: WatchedObjectsDeps;
  readonly #watched = new Map<string, Watched<T>>();

  constructor(deps: WatchedObjectsDeps) {
    this.#deps = deps;
  }

  keep(object: ObjectName): void {
    const key = nameKey(object);
    if (!this.#watched.has(key)) this.#watched.set(key, this.#start(object));
  }

  drop(object: ObjectName): void {
    const key = nameKey(object);
    this.#watched.get(key)?.stop.abort(new Error("no pod refers to the object any more"));
    this.#watched.delete(key);
  }

  async refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void> {
    const items = objects.flatMap((object) => this.#watched.get(nameKey(object)) ?? []);
    await whenSynced(
      items.map(({ reflector }) => reflector),
      this.#deps.clock,
      signal,
    );
    for (const item of items) item.isMissed ||= !item.reflector.isSynced;
  }

  get(object: ObjectName): Result<T, LookUpFailure> {
    const watched = this.#watched.get(nameKey(object));
    if (watched === undefined) return err(notRegistered(object));
    const kind = singular(this.#deps.kind);
    if (!watched.reflector.isSynced) {
      const message = `failed to sync ${kind} cache: timed out waiting for the condition`;
      return err({ code: "failed", message });
    }
    const found = watched.reflector.items.get(nameKey(object));
    if (found !== undefined) return ok(found);
    return err({ code: "not-found", message: `${kind} "${object.name}" not found` });
  }

  #start(object: ObjectName): Watched<T> {
    const { api, clock, random, log, kind, users, lifetime } = this.#deps;
    const stop = new AbortController();
    let isFirst = true;
    const reflector = new Reflector<T>({
      api,
      clock,
      random,
      log,
      path: collectionPath(kind, object.namespace),
      query: { fieldSelector: `metadata.name=${escapedSelector(object.name)}` },
      watchMs,
      backoff,
      sink: {
        deliver: (items) => {
          // What cannot change any more needs no watch.
          if (items.get(nameKey(object))?.immutable === true) {
            stop.abort(new Error("the object is immutable"));
          }
          const isNews = !isFirst || watched.isMissed;
          isFirst = false;
          if (isNews) users.noteChange(kind, object);
        },
      },
    });
    const watched: Watched<T> = { reflector, stop, isMissed: false };
    void withEither([stop.signal, lifetime], (either) => reflector.run(either));
    return watched;
  }
}

function escapedSelector(value: string): string {
  return value.replaceAll(/[\\,=]/g, String.raw`\$&`);
}
