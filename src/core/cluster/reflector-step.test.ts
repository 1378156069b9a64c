import fc from "fast-check";
import { expect, test } from "vitest";
import { ApiError } from "../../model/api-error.ts";
import type { WatchEvent } from "../../model/watch-event.ts";
import type { ApiObject } from "./object-set.ts";
import {
  afterEnd,
  afterList,
  afterListError,
  afterWatchError,
  type IdleState,
  type NextStep,
  nextRequest,
  type OpenState,
  receiveEvent,
  watchDeadlineMs,
  watchTimeoutSeconds,
} from "./reflector-step.ts";

const empty: IdleState = { kind: "empty" };
const streaming: OpenState = { kind: "streaming" };
const fresh: OpenState = { kind: "watching", version: "7", isFresh: true };
const resumed: OpenState = { kind: "watching", version: "7", isFresh: false };
const listed: IdleState = { kind: "listed", version: "7", isFresh: false };
const backoff = { atLeastMs: 0 };
const long = { events: 0, durationMs: 1000 };
const short = { events: 0, durationMs: 999 };
const lively = { events: 1, durationMs: 0 };
const broken = new Error("socket hang up");

function refusal(status: number, retryAfterSeconds?: number): ApiError {
  return new ApiError(status, "", "no", retryAfterSeconds);
}

function event(
  type: WatchEvent<ApiObject>["type"],
  resourceVersion: string | undefined,
  annotations?: Readonly<Record<string, string>>,
): WatchEvent<ApiObject> {
  return { type, object: { metadata: { name: "a", resourceVersion, annotations } } };
}

test("at first everything is requested as a stream, without a version that a stale cache could serve", () => {
  expect(nextRequest(empty, 450)).toEqual({
    kind: "watch",
    query: {
      watch: "true",
      allowWatchBookmarks: "true",
      timeoutSeconds: "450",
      resourceVersionMatch: "NotOlderThan",
      sendInitialEvents: "true",
    },
    state: streaming,
  });
});

test("a complete set is followed from its version", () => {
  expect(nextRequest(listed, 300)).toEqual({
    kind: "watch",
    query: {
      watch: "true",
      allowWatchBookmarks: "true",
      timeoutSeconds: "300",
      resourceVersion: "7",
    },
    state: resumed,
  });
  expect(nextRequest({ kind: "listing" }, 300)).toEqual({ kind: "list" });
});

test("a watch lasts for the given time or up to twice as long, and is dead 30 s after that", () => {
  expect(watchTimeoutSeconds(300_000, 0)).toBe(300);
  expect(watchTimeoutSeconds(300_000, 0.999)).toBe(599);
  expect(watchDeadlineMs(300)).toBe(330_000);
});

test("a stream is complete with the bookmark that ends the initial events, and no other", () => {
  const added = event("ADDED", "9");
  expect(receiveEvent(streaming, added)).toEqual({
    state: streaming,
    change: { kind: "found", event: added },
  });
  const older = event("ADDED", "3");
  expect(receiveEvent(streaming, older).change).toEqual({ kind: "found", event: older });
  expect(receiveEvent(streaming, event("BOOKMARK", "10"))).toEqual({ state: streaming });
  const end = event("BOOKMARK", "7", { "k8s.io/initial-events-end": "true" });
  expect(receiveEvent(streaming, end)).toEqual({ state: fresh, change: { kind: "complete" } });
});

test("events and bookmarks advance the version, and only events change the set", () => {
  const modified = event("MODIFIED", "9");
  const state = { ...resumed, version: "9" };
  expect(receiveEvent(resumed, modified)).toEqual({
    state,
    change: { kind: "changed", event: modified },
  });
  expect(receiveEvent(resumed, event("BOOKMARK", "9"))).toEqual({ state });
});

test("an event that was received before is ignored, and the version never goes back", () => {
  expect(receiveEvent(resumed, event("ADDED", "7"))).toEqual({ state: resumed });
  expect(receiveEvent(resumed, event("MODIFIED", "6"))).toEqual({ state: resumed });
  expect(receiveEvent(resumed, event("BOOKMARK", "6"))).toEqual({ state: resumed });
});

test("a deletion with an old version is left to the set to judge", () => {
  const deleted = event("DELETED", "6");
  expect(receiveEvent(resumed, deleted)).toEqual({
    state: resumed,
    change: { kind: "changed", event: deleted },
  });
});

test("an event without a version is a change that leaves the version as it is", () => {
  const modified = event("MODIFIED", undefined);
  expect(receiveEvent(resumed, modified)).toEqual({
    state: resumed,
    change: { kind: "changed", event: modified },
  });
});

test("a list is followed by a watch; one without a version by another attempt after a delay", () => {
  expect(afterList("7")).toEqual({ state: { kind: "listed", version: "7", isFresh: true } });
  expect(afterList("")).toEqual({ state: empty, delay: backoff });
});

test.each<{ readonly title: string; readonly next: NextStep; readonly expected: NextStep }>([
  { title: "lasted", next: afterEnd(fresh, long), expected: { state: listed } },
  { title: "brought something", next: afterEnd(resumed, lively), expected: { state: listed } },
  {
    title: "was short",
    next: afterEnd(resumed, short),
    expected: { state: listed, delay: backoff },
  },
  {
    title: "was never complete",
    next: afterEnd(streaming, { events: 5, durationMs: 60_000 }),
    expected: { state: empty, delay: backoff },
  },
  {
    title: "has no version",
    next: afterEnd({ ...fresh, version: "" }, long),
    expected: { state: empty, delay: backoff },
  },
])("after the end of a watch that $title", ({ next, expected }) => {
  expect(next).toEqual(expected);
});

const failed = (state: IdleState, atLeastMs = 0): NextStep => ({
  state,
  delay: { atLeastMs },
  isFailure: true,
});

test.each<{ readonly title: string; readonly next: NextStep; readonly expected: NextStep }>([
  {
    title: "a connection that broke after it had worked is resumed at once",
    next: afterWatchError(fresh, broken, lively),
    expected: { state: listed },
  },
  {
    title: "a connection that broke before the stream was complete begins again after a delay",
    next: afterWatchError(streaming, broken, lively),
    expected: { state: empty, delay: backoff },
  },
  {
    title: "a server that cannot be reached is a failure, and the version is kept",
    next: afterWatchError(resumed, broken, short),
    expected: failed(listed),
  },
  {
    title: "a server that cannot be reached at first is a failure",
    next: afterWatchError(streaming, broken, short),
    expected: failed(empty),
  },
  {
    title: "429 keeps the version and waits as long as the server says",
    next: afterWatchError(resumed, refusal(429, 5), lively),
    expected: failed(listed, 5000),
  },
  {
    title: "429 does not mean that the server cannot stream",
    next: afterWatchError(streaming, refusal(429), short),
    expected: failed(empty),
  },
  {
    title: "410 for a version of an earlier watch begins again at once, and is not a failure",
    next: afterWatchError(resumed, refusal(410), short),
    expected: { state: empty },
  },
  {
    title: "410 for a version that the server has just given waits",
    next: afterWatchError(fresh, refusal(410), lively),
    expected: failed(empty),
  },
  {
    title: "410 for a stream that is not complete waits",
    next: afterWatchError(streaming, refusal(410), lively),
    expected: failed(empty),
  },
  {
    title: "a server that refuses to stream is asked for a list at once",
    next: afterWatchError(streaming, refusal(422), short),
    expected: { state: { kind: "listing" } },
  },
  {
    title: "any other refusal of a watch makes the set incomplete",
    next: afterWatchError(resumed, refusal(500, 2), lively),
    expected: failed(empty, 2000),
  },
  {
    title: "a refused list begins again from the stream",
    next: afterListError(refusal(403)),
    expected: failed(empty),
  },
  {
    title: "a list that did not arrive begins again from the stream",
    next: afterListError(broken),
    expected: failed(empty),
  },
])("$title", ({ next, expected }) => {
  expect(next).toEqual(expected);
});

test("a server that answers at once and brings nothing is never asked more than four times without a delay", () => {
  const answer = fc.record({
    kind: fc.constantFrom("end", "break", "refuse"),
    status: fc.constantFrom(400, 403, 404, 410, 422, 429, 500, 503),
    version: fc.constantFrom("", "5"),
  });
  const step = (
    state: IdleState,
    { kind, status, version }: { kind: string; status: number; version: string },
  ): NextStep => {
    const request = nextRequest(state, 300);
    if (request.kind === "list") {
      if (kind === "end") return afterList(version);
      return afterListError(kind === "break" ? broken : refusal(status));
    }
    if (kind === "end") return afterEnd(request.state, short);
    return afterWatchError(request.state, kind === "break" ? broken : refusal(status), short);
  };
  fc.assert(
    fc.property(fc.constantFrom(empty, listed), fc.array(answer), (start, answers) => {
      let state: IdleState = start;
      let atOnce = 0;
      for (const each of answers) {
        const next = step(state, each);
        atOnce = next.delay === undefined ? atOnce + 1 : 0;
        expect(atOnce).toBeLessThan(4);
        ({ state } = next);
      }
    }),
  );
});
