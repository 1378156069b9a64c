// How a collection of the API server is followed: what to request next, and what each answer means.
//
//             stream                initial events end
//   empty ─────────────► streaming ─────────────────────► watching ◄───┐
//     ▲                      │                             │   │       │ watch from the version
//     │                      │ refused                     │   └► listed
//     │                      ▼                             │       ▲
//     │                   listing ─────────────────────────┼───────┘ list
//     └──────────────────────┴─────────────────────────────┘
//                 410 Gone, refusals, no version to resume from
import { ApiError } from "../../model/api-error.ts";
import type { WatchEvent } from "../../model/watch-event.ts";
import type { ApiObject } from "./object-set.ts";
import { isAtMost } from "./resource-version.ts";

/** A watch that ends sooner, and brought nothing, is not opened again at once. */
const shortWatchMs = 1000;
/** How much later than requested the server may end a watch before the connection counts as dead. */
const lateMs = 30_000;

/** No request is in progress. */
export type IdleState =
  /** Nothing can be resumed: everything is requested, as a stream. */
  | { readonly kind: "empty" }
  /** The server does not stream what there is: a list is requested. */
  | Listing
  /** The set is complete as of a version: the changes since are requested. */
  | ({ readonly kind: "listed" } & Position);

/** A watch is open. */
export type OpenState =
  /** What there is arrives, object by object; the set is not complete yet. */
  | { readonly kind: "streaming" }
  /** Changes arrive. */
  | ({ readonly kind: "watching" } & Position);

interface Listing {
  readonly kind: "listing";
}

interface Position {
  /** The resource version up to which all changes are known; empty when the server gave none. */
  readonly version: string;
  /** No watch has ended since the set was complete: a server that finds the version too old contradicts itself. */
  readonly isFresh: boolean;
}

export type ReflectorRequest =
  | { readonly kind: "list" }
  | {
      readonly kind: "watch";
      readonly query: Readonly<Record<string, string>>;
      /** Once the watch is open. */
      readonly state: OpenState;
    };

/** What an event of a watch means for the set. */
export type SetChange<T> =
  /** One of the objects that there are. */
  | { readonly kind: "found"; readonly event: WatchEvent<T> }
  /** All objects that there are have been found. */
  | { readonly kind: "complete" }
  | { readonly kind: "changed"; readonly event: WatchEvent<T> };

/** How to go on once a request has ended. */
export interface NextStep {
  readonly state: IdleState;
  /** Undefined = at once; otherwise after the next delay of the backoff, and not sooner than this. */
  readonly delay?: { readonly atLeastMs: number } | undefined;
  /** Whether this is an outage that the node's users should know about. */
  readonly isFailure?: boolean | undefined;
}

const backoff = { atLeastMs: 0 };

/** The request that a state calls for. `timeoutSeconds`: when the server should end a watch. */
export function nextRequest(state: IdleState, timeoutSeconds: number): ReflectorRequest {
  const watch = {
    watch: "true",
    allowWatchBookmarks: "true",
    timeoutSeconds: String(timeoutSeconds),
  };
  switch (state.kind) {
    case "empty":
      // Without a resource version: "0" would allow an answer from a cache that is older than what is known here.
      return {
        kind: "watch",
        query: { ...watch, resourceVersionMatch: "NotOlderThan", sendInitialEvents: "true" },
        state: { kind: "streaming" },
      };
    case "listing":
      // Also without a resource version, and without a limit: the server answers with all of it, not with pages.
      return { kind: "list" };
    case "listed": {
      const query = { ...watch, resourceVersion: state.version };
      return { kind: "watch", query, state: { ...state, kind: "watching" } };
    }
  }
}

/** When the server should end a watch: not all watches at the same time. `random`: from 0 (included) to 1 (excluded). */
export function watchTimeoutSeconds(watchMs: number, random: number): number {
  return Math.floor((watchMs * (1 + random)) / 1000);
}

/** After which time a watch that the server should have ended counts as dead. */
export function watchDeadlineMs(timeoutSeconds: number): number {
  return timeoutSeconds * 1000 + lateMs;
}

/** What a watch was like by the time it ended. */
export interface EndedWatch {
  readonly events: number;
  readonly durationMs: number;
}

function wasShort({ events, durationMs }: EndedWatch): boolean {
  return events === 0 && durationMs < shortWatchMs;
}

/** An event of the open watch. */
export function receiveEvent<T extends ApiObject>(
  state: OpenState,
  event: WatchEvent<T>,
): { readonly state: OpenState; readonly change?: SetChange<T> } {
  const { annotations, resourceVersion: version = "" } = event.object.metadata ?? {};
  if (state.kind === "streaming") {
    // What there is arrives in no order of versions.
    if (event.type !== "BOOKMARK") return { state, change: { kind: "found", event } };
    if (annotations?.["k8s.io/initial-events-end"] !== "true") return { state };
    return { state: { kind: "watching", version, isFresh: true }, change: { kind: "complete" } };
  }
  const isKnown = isAtMost(version, state.version);
  const after = isKnown || version === "" ? state : { ...state, version };
  if (event.type === "BOOKMARK" || (isKnown && event.type !== "DELETED")) return { state: after };
  // A deletion may carry an old version: the set compares it with the object that it holds.
  return { state: after, change: { kind: "changed", event } };
}

/** A list has arrived, with this resource version. */
export function afterList(version: string): NextStep {
  // Without a version to resume from, only the whole collection shows what has changed since.
  if (version === "") return { state: { kind: "empty" }, delay: backoff };
  return { state: { kind: "listed", version, isFresh: true } };
}

/** The server has ended the watch. */
export function afterEnd(state: OpenState, watch: EndedWatch): NextStep {
  const resumed = resumeFrom(state);
  const isWorthIt = resumed.kind === "listed" && !wasShort(watch);
  return isWorthIt ? { state: resumed } : { state: resumed, delay: backoff };
}

/** The error policy: what follows a list that failed. */
export function afterListError(error: unknown): NextStep {
  return failure({ kind: "empty" }, error);
}

/** The error policy: what follows a watch that was refused, or broke. */
export function afterWatchError(state: OpenState, error: unknown, watch: EndedWatch): NextStep {
  if (!(error instanceof ApiError)) {
    // A connection that broke after it had worked is resumed where it broke.
    return wasShort(watch) ? failure(resumeFrom(state), error) : afterEnd(state, watch);
  }
  switch (error.status) {
    case 429:
      return failure(resumeFrom(state), error);
    case 410:
      // The server no longer has the changes since that version; that is what happens after an outage.
      if (state.kind === "watching" && !state.isFresh) return { state: { kind: "empty" } };
      return failure({ kind: "empty" }, error);
    default:
      if (state.kind === "streaming") return { state: { kind: "listing" } };
      // It is unknown what was missed.
      return failure({ kind: "empty" }, error);
  }
}

function resumeFrom(state: OpenState): IdleState {
  if (state.kind === "streaming" || state.version === "") return { kind: "empty" };
  return { kind: "listed", version: state.version, isFresh: false };
}

function failure(state: IdleState, error: unknown): NextStep {
  const askedSeconds = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0;
  return { state, delay: { atLeastMs: askedSeconds * 1000 }, isFailure: true };
}
