import { expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { testHistory } from "../../../test/kit/test-history.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { settle, VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { ApiError } from "../../model/api-error.ts";
import { podUid } from "../../model/ids.ts";
import { PodTable } from "../pods/pod-table.ts";
import { EventLog } from "../view/event-log.ts";
import { EventSender } from "./event-sender.ts";

const pod = { metadata: { name: "web", namespace: "ns", uid: podUid("uid-1") } };

function world(
  limits: { readonly perSecond: number; readonly burst: number } = { perSecond: 50, burst: 100 },
) {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  const stop = new AbortController();
  const table = new PodTable();
  const history = testHistory(table);
  const sender = new EventSender({
    api,
    history,
    clock,
    random: () => 0.5,
    log: silentLog,
    nodeName: "node-a",
    uniqueName: () => "unique",
    ...limits,
  });
  const log = new EventLog({
    table,
    clock,
    host: "node-a",
    history,
    sender,
  });
  const running = sender.run(stop.signal);
  const record = (reason: string, message = "a message"): void =>
    log.record(pod, { type: "Normal", reason, message, container: { kind: "regular", name: "c" } });
  const end = async (): Promise<void> => {
    stop.abort(new Error("the test is over"));
    await running;
  };
  return { clock, api, sender, log, record, end };
}

const eventsPath = "/api/v1/namespaces/ns/events";

test("an event is created, and its repetitions are counted up in place", async () => {
  const { clock, api, record, end } = world();
  record("Pulled");
  await clock.advance(5000);
  record("Pulled");
  await settle();
  expect(api.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `POST ${eventsPath}`,
    `PATCH ${eventsPath}/web.18867251edfa0000`,
  ]);
  expect(api.requests[0]?.body).toEqual({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "web.18867251edfa0000", namespace: "ns" },
    involvedObject: {
      kind: "Pod",
      apiVersion: "v1",
      name: "web",
      namespace: "ns",
      uid: "uid-1",
      fieldPath: "spec.containers{c}",
    },
    type: "Normal",
    reason: "Pulled",
    message: "a message",
    source: { component: "kubelet", host: "node-a" },
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    count: 1,
    reportingComponent: "kubelet",
    reportingInstance: "node-a",
  });
  expect(api.requests[1]?.body).toEqual({
    count: 2,
    lastTimestamp: "2026-01-01T00:00:05Z",
    message: "a message",
  });
  expect(api.list(eventsPath)).toHaveLength(1);
  await end();
});

test("an event that the server has forgotten is created again with its count", async () => {
  const { api, record, end } = world();
  record("Pulled");
  await settle();
  const [first] = api.list(eventsPath);
  api.remove(`${eventsPath}/${first?.metadata.name ?? ""}`);
  record("Pulled");
  await settle();
  expect(api.list(eventsPath)).toMatchObject([
    { count: 2, metadata: first && { name: first.metadata.name } },
  ]);
  await end();
});

test("events wait out an outage, in order, without holding anybody up", async () => {
  const { clock, api, record, end } = world();
  api.goDown();
  record("Pulled");
  record("Created");
  record("Started");
  await clock.advance(60_000);
  expect(api.requests).toHaveLength(7);
  api.comeBack();
  await clock.advance(10_000);
  expect(api.list(eventsPath).map((event) => event["reason"])).toEqual([
    "Pulled",
    "Created",
    "Started",
  ]);
  await end();
});

test("an event that cannot be sent for two minutes is given up for the next one", async () => {
  const { clock, api, record, end } = world();
  api.goDown();
  record("Pulled");
  record("Created");
  await clock.advance(106_000);
  expect(api.requests).toHaveLength(13);
  api.comeBack();
  await clock.advance(10_000);
  expect(api.list(eventsPath).map((event) => event["reason"])).toEqual(["Created"]);
  await end();
});

test("an event that the server refuses is not tried again", async () => {
  const { clock, api, record, end } = world();
  const allow = api.intercept(() => {
    throw new ApiError(403, "Forbidden", "the namespace is terminating");
  });
  record("Pulled");
  await clock.advance(60_000);
  allow();
  record("Created");
  await clock.advance(1000);
  expect(api.requests.map(({ method }) => method)).toEqual(["POST", "POST"]);
  await end();
});

test("no more than the queue holds waits for a server that is away", async () => {
  const { clock, api, record, sender, end } = world();
  api.goDown();
  for (let index = 0; index < 2000; index += 1) record("Pulled", `message ${index}`);
  sender.recordNode({ type: "Normal", reason: "Starting", message: "Starting kubelet." });
  await settle();
  api.comeBack();
  await clock.advance(600_000);
  expect(api.list("/api/v1/namespaces/default/events")).toHaveLength(0);
  // Of one object 25 are sent, and one more each five minutes.
  expect(api.list(eventsPath)).toHaveLength(10);
  await end();
});

test("requests keep to their rate", async () => {
  const { clock, api, sender, end } = world({ perSecond: 2, burst: 3 });
  for (let index = 0; index < 10; index += 1) {
    sender.recordNode({ type: "Normal", reason: `Reason${index}`, message: "" });
  }
  await settle();
  expect(api.requests).toHaveLength(3);
  await clock.advance(1000);
  expect(api.requests).toHaveLength(5);
  await clock.advance(5000);
  expect(api.requests).toHaveLength(10);
  expect(new Set(api.requests.map(({ path }) => path))).toEqual(
    new Set(["/api/v1/namespaces/default/events"]),
  );
  await end();
});

test("an object with a name too long for an event has events under another name", async () => {
  const { api, log, end } = world();
  const name = "a".repeat(250);
  log.record(
    { metadata: { ...pod.metadata, name } },
    { type: "Normal", reason: "Pulled", message: "" },
  );
  await settle();
  expect(api.list(eventsPath)).toMatchObject([{ metadata: { name: "unique" } }]);
  await end();
});
