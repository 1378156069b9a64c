import { type IncomingMessage, request } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { InMemoryAgentView } from "../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../test/fakes/served-api.ts";
import { podUid } from "../model/ids.ts";
import type { HistoryEntry } from "../ports/history.ts";

let api: ServedApi;
let view: InMemoryAgentView;

beforeEach(async () => {
  view = new InMemoryAgentView();
  for (let atMs = 1; atMs <= 5; atMs++) view.historyStore.append(event(atMs));
  view.historyStore.append({ kind: "node", atMs: 6, pods: 1, pressures: [] });
  api = await serveApi(view);
});

afterEach(() => api.stop());

function event(atMs: number): HistoryEntry {
  const uid = podUid(`uid-${atMs % 2}`);
  const said = { type: "Normal", reason: "Tested", message: "it happened", count: 1 } as const;
  return { kind: "event", atMs, uid, pod: `default/pod-${atMs % 2}`, ...said };
}

async function fetchHistory(path: string) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { socketPath: api.socketPath, path: `/berth/v1/history/${path}`, agent: false };
    request(options, resolve).on("error", reject).end();
  });
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { code: response.statusCode ?? 0, body: JSON.parse(text) };
}

test("entries are selected by pod, kind and time, and come in pages", async () => {
  const path = "entries?uid=uid-1&kinds=event,sync&since=1&until=4&limit=1";
  const first = await fetchHistory(path);
  expect(first.body).toMatchObject({ items: [{ atMs: 3, uid: "uid-1" }], problems: [] });
  const { next } = first.body;
  const second = await fetchHistory(`${path}&before=${next}`);
  expect(second.body).toMatchObject({ items: [{ atMs: 1 }] });
  expect(second.body).not.toHaveProperty("next");
});

test("pods are listed, and the node is shown as it was", async () => {
  expect((await fetchHistory("pods")).body).toMatchObject({
    items: [{ name: "pod-1", firstSeenMs: 1, lastSeenMs: 5 }, { name: "pod-0" }],
    isCut: false,
  });
  expect((await fetchHistory("at?time=6")).body).toMatchObject({
    isKnown: true,
    node: { pods: 1 },
  });
});

test.each([
  ["entries?since=-1", 'since: "-1"'],
  ["entries?until=now", 'until: "now"'],
  ["entries?limit=0", 'limit: "0"'],
  ["entries?limit=1001", 'limit: "1001" is more than 1000'],
  ["entries?kinds=event,colour", 'kinds: "colour" is none of sync'],
  ["entries?before=yesterday", 'before: "yesterday"'],
  ["at", "time: give"],
])("%s is refused by the name of the parameter", async (path, message) => {
  const { code, body } = await fetchHistory(path);
  expect(code).toBe(400);
  expect(body).toMatchObject({ kind: "Status", message: expect.stringContaining(message) });
});
