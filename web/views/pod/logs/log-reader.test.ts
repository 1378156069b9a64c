import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runningPod } from "../../../../test/kit/pods.ts";
import { ApiClient } from "../../../api/client.ts";
import { Store } from "../../../lib/store.ts";
import { emptyLog, type LogContent } from "../../../model/log-buffer.ts";
import type { LivePods } from "../../../state.ts";
import { LogReader } from "./log-reader.ts";

const patience = { timeout: 20_000 };
const pod = runningPod("web");
const choice = { container: "main", follow: true, previous: false, timestamps: false };
let end: AbortController;
let asked: string[];
let shown: LogContent;
/** Also what made room for other lines since. */
let everShown: Set<string>;

beforeEach(() => {
  end = new AbortController();
  asked = [];
  shown = emptyLog;
  everShown = new Set();
  vi.stubGlobal("localStorage", { getItem: () => "key" });
});
afterEach(() => {
  end.abort();
  vi.unstubAllGlobals();
});

/** The last answer is given again and again. */
function follow(...answers: readonly (() => Response)[]): void {
  vi.stubGlobal("fetch", async (path: string) => {
    const answer = answers[Math.min(asked.push(path), answers.length) - 1];
    return answer?.();
  });
  const byUid = new Map([[pod.metadata.uid, pod]]);
  const pods = new Store<LivePods>({ isListed: true, byUid });
  const page = { client: new ApiClient(() => undefined), pods };
  const reader = new LogReader(page, pod.metadata, (log) => {
    shown = log;
    for (const text of texts()) everShown.add(text);
  });
  reader.run(choice, end.signal).catch(() => undefined);
}

/** A log that is followed, and goes on until the test ends. */
function following(text: string): Response {
  const start = (body: ReadableStreamDefaultController): void => {
    body.enqueue(new TextEncoder().encode(text));
  };
  return new Response(new ReadableStream({ start }));
}

/** One whose connection breaks after the text. */
function breaking(text: string): Response {
  const parts = [() => new TextEncoder().encode(text)];
  const pull = (body: ReadableStreamDefaultController): void => {
    const part = parts.shift();
    if (part === undefined) body.error(new Error("broken"));
    else body.enqueue(part());
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
}

function refusal(status: number): Response {
  return Response.json({ message: "not now" }, { status });
}

function texts(): readonly string[] {
  return shown.blocks.flatMap(({ lines }) => lines.map(({ text }) => text));
}

test("a log whose connection broke is read again when the agent answers, and each line is there once", async () => {
  const broken = () => breaking("one\ntwo\n");
  const whole = () => following("one\ntwo\nthree\n");
  follow(
    broken,
    () => refusal(503),
    () => refusal(429),
    whole,
  );
  await expect
    .poll(texts, patience)
    .toEqual(["read again, from its last lines on", "one", "two", "three"]);
  expect(everShown).toContain("the connection broke");
  expect(asked.every((path) => path.includes("tailLines="))).toBe(true);
});

test("an answer that ends while its container runs on is no end of the run", async () => {
  follow(
    () => new Response("one\n"),
    () => following("one\ntwo\n"),
  );
  await expect.poll(texts, patience).toEqual(["read again, from its last lines on", "one", "two"]);
  expect(everShown).toContain("this run has ended");
});

test("why nothing comes is said once", async () => {
  follow(() => refusal(503));
  await expect.poll(() => asked.length, patience).toBeGreaterThan(2);
  expect(texts()).toEqual(["not now"]);
});
