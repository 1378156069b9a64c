// What a node says to the API server, against what the recorded kubelet said.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { NodeWorld } from "./node-world.ts";

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const recording = JSON.parse(
  gunzipSync(
    readFileSync(new URL("../golden/recordings/node-registration.json.gz", import.meta.url)),
  ).toString("utf8"),
) as { readonly api: readonly RecordedRequest[] };
const heartbeat = JSON.parse(
  gunzipSync(
    readFileSync(new URL("../golden/recordings/node-heartbeat.json.gz", import.meta.url)),
  ).toString("utf8"),
) as { readonly api: readonly RecordedRequest[] };

function recorded(
  requests: readonly RecordedRequest[],
  method: string,
  path: RegExp,
): RecordedRequest {
  const found = requests.find((request) => request.method === method && path.test(request.path));
  if (found === undefined) throw new Error(`${method} ${path.source} was not recorded`);
  return found;
}

/** Times, identities and what the machine is called are each run's own. */
function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, field: unknown) => {
      if (
        /^(last.*Time|renewTime|creationTimestamp|resourceVersion|uid|managedFields|.*ID|.*UUID)$/.test(
          key,
        )
      ) {
        return "<own>";
      }
      return key === "images" ? undefined : field;
    }),
  );
}

async function registered(): Promise<NodeWorld> {
  const world = new NodeWorld();
  world.start();
  await world.clock.advance(50_000);
  return world;
}

function sent(world: NodeWorld, method: string, path: RegExp): RecordedRequest {
  return recorded(
    world.api.requests.map((request) => ({ query: {}, ...request }) as RecordedRequest),
    method,
    path,
  );
}

test.each([
  ["POST", /nodes$/],
  ["POST", /leases$/],
  ["POST", /csinodes$/],
])("%s %s has the recorded request's query and body", async (method, path) => {
  const world = await registered();
  const expected = recorded(recording.api, method, path);
  const actual = sent(world, method, path);
  expect(actual.path).toBe(expected.path);
  expect(actual.query).toEqual(expected.query);
  expect(comparable(actual.body)).toEqual(comparable(expected.body));
  await world.stop();
});

test("the lease is renewed as recorded", async () => {
  const world = await registered();
  const expected = recorded(heartbeat.api, "PUT", /leases/);
  const actual = sent(world, "PUT", /leases/);
  expect(actual.path).toBe(expected.path);
  expect(actual.query).toEqual(expected.query);
  expect(comparable({ ...(actual.body as object), metadata: {} })).toEqual(
    comparable({ ...(expected.body as object), metadata: {} }),
  );
  await world.stop();
});

test("a heartbeat names the conditions in their order with their heartbeat times, as recorded", async () => {
  const world = await registered();
  world.api.requests.length = 0;
  await world.clock.advance(320_000);
  const heartbeats = heartbeat.api.filter(
    ({ method, body }) => method === "PATCH" && !JSON.stringify(body).includes("images"),
  );
  const expected = heartbeats.at(-1);
  const actual = sent(world, "PATCH", /status$/);
  expect(actual.path).toBe(expected?.path);
  expect(actual.query).toEqual(expected?.query);
  expect(comparable(actual.body)).toEqual(comparable(expected?.body));
  await world.stop();
});

test("becoming ready is one change of one condition, as recorded", async () => {
  const world = new NodeWorld();
  world.report = { ...world.report, problems: ["container runtime is down"] };
  world.start();
  await world.clock.advance(1000);
  world.api.requests.length = 0;
  world.report = { ...world.report, problems: [] };
  world.agent.requestUpdate();
  await world.clock.advance(200);
  const expected = recording.api.find(
    ({ method, body }) => method === "PATCH" && JSON.stringify(body).includes("KubeletReady"),
  );
  const body = sent(world, "PATCH", /status$/).body as {
    readonly status: { readonly conditions: readonly { readonly type: string }[] };
  };
  const ready = body.status.conditions.find(({ type }) => type === "Ready");
  const {
    lastHeartbeatTime: _,
    lastTransitionTime: __,
    ...rest
  } = { lastHeartbeatTime: "", lastTransitionTime: "", ...ready };
  const recordedBody = expected?.body as typeof body;
  expect(rest).toEqual(recordedBody.status.conditions[0]);
  await world.stop();
});
