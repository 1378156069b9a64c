import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { collectSnapshots, type SnapshotLog } from "../../../test/kit/snapshot-log.ts";
import { createHttpSource } from "./http-source.ts";
import type { ManifestMode } from "./parse-file.ts";

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "c", image: "x" }] },
});

/** A real server whose answer the test changes, and a source that reads it. */
async function start(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  mode: ManifestMode = "kubelet",
): Promise<SnapshotLog> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const source = createHttpSource({
    url: `http://127.0.0.1:${port}/pods`,
    headers: { "X-Key": ["a"] },
    nodeName: "n1",
    mode,
    frequencyMs: 5,
  });
  const log = collectSnapshots(source);
  closers.push(async () => {
    await log.stop();
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  });
  return log;
}

test("a single pod is delivered with the node's name in its own, and without a toleration", async () => {
  let key: unknown;
  const log = await start((request, response) => {
    key = request.headers["x-key"];
    response.end(JSON.stringify(pod("a")));
  });
  const { pods } = await log.next();
  expect(pods.map(({ metadata }) => metadata.name)).toEqual(["a-n1"]);
  expect(pods[0]?.spec.tolerations).toBeUndefined();
  expect(key).toBe("a");
});

test("a list of pods replaces the pod before it", async () => {
  let body: unknown = pod("a");
  const log = await start((_, response) => response.end(JSON.stringify(body)));
  await log.next();
  body = { apiVersion: "v1", kind: "PodList", items: [pod("b"), pod("c")] };
  const { pods } = await log.next();
  expect(pods.map(({ metadata }) => metadata.name)).toEqual(["b-n1", "c-n1"]);
});

test("an error keeps the last pods and is reported", async () => {
  let status = 200;
  const log = await start((_, response) => {
    response.statusCode = status;
    response.end(JSON.stringify(pod("a")));
  });
  await log.next();
  status = 503;
  const failed = await log.next();
  expect(failed.pods).toHaveLength(1);
  expect(failed.problems[0]?.message).toContain("503 Service Unavailable");
  status = 200;
  expect((await log.next()).problems).toEqual([]);
});

test.each([
  ["an error page", 403, "<html>canary</html>"],
  ["a text that is not a manifest", 200, "canary"],
  ["an object that is not a pod", 200, JSON.stringify({ password: "canary" })],
])("nothing of %s is repeated", async (_, status, body) => {
  let isBad = false;
  const log = await start((_request, response) => {
    response.statusCode = isBad ? status : 200;
    response.end(isBad ? body : JSON.stringify(pod("a")));
  });
  await log.next();
  isBad = true;
  const { problems } = await log.next();
  expect(problems).toHaveLength(1);
  expect(JSON.stringify(problems)).not.toContain("canary");
});

test("an empty answer means no pods", async () => {
  const log = await start((_, response) => response.end(""));
  const { pods, problems } = await log.next();
  expect(pods).toEqual([]);
  expect(problems[0]?.message).toContain("zero-length data");
});

test("nothing is delivered before the first valid answer", async () => {
  let isValid = false;
  let requests = 0;
  const log = await start((_, response) => {
    requests++;
    if (requests > 3) isValid = true;
    response.end(isValid ? JSON.stringify(pod("a")) : "kind: Nothing");
  });
  const first = await log.next();
  expect(first.pods).toHaveLength(1);
  expect(requests).toBeGreaterThan(3);
});

const misspelled = { ...pod("a"), spec: { ...pod("a").spec, hostnetwork: true } };

test("a field that does not exist is let pass but named", async () => {
  const log = await start((_, response) => response.end(JSON.stringify(misspelled)));
  const { pods, problems, unknownFields } = await log.next();
  expect(pods).toHaveLength(1);
  expect(problems).toEqual([]);
  expect(unknownFields).toMatchObject([
    {
      field: "spec.hostnetwork",
      message: "unknown field spec.hostnetwork: did you mean hostNetwork?",
    },
  ]);
});

test("a field that does not exist is refused where manifests are read strictly", async () => {
  let body: unknown = pod("a");
  const log = await start((_, response) => response.end(JSON.stringify(body)), "up");
  await log.next();
  body = misspelled;
  const { pods, problems } = await log.nextWhere((snapshot) => snapshot.problems.length > 0);
  expect(pods).toMatchObject([{ spec: { containers: [{ name: "c" }] } }]);
  expect(problems).toMatchObject([{ field: "spec.hostnetwork" }]);
});
