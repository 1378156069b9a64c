import { appendFile, readdir, rename, stat, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { InMemoryAgentView } from "../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../test/fakes/served-api.ts";
import { runningPod } from "../../test/kit/pods.ts";
import { AgentClient } from "../cli/agent-client.ts";
import type { SyncRecord } from "../ports/sync-record.ts";
import { runLocalApi } from "./local-api.ts";

const never = new AbortController().signal;

let api: ServedApi;
let view: InMemoryAgentView;

beforeEach(async () => {
  view = new InMemoryAgentView();
  api = await serveApi(view);
});

afterEach(() => api.stop());

function open(path: string, options: { method?: string; body?: string } = {}) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    request(
      { socketPath: api.socketPath, path, method: options.method ?? "GET", agent: false },
      resolve,
    )
      .on("error", reject)
      .end(options.body);
  });
}

async function fetchText(path: string): Promise<string> {
  const response = await open(path);
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return text;
}

async function fetchJson(path: string, options: { method?: string; body?: string } = {}) {
  const response = await open(path, options);
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { code: response.statusCode, body: JSON.parse(text) };
}

/** Takes lines one by one; the end of the server ends it. */
async function openLines(path: string) {
  const response = await open(path);
  response.on("error", () => undefined);
  const lines = createInterface({ input: response })[Symbol.asyncIterator]();
  return async (): Promise<string | undefined> => {
    const { value, done } = await lines.next();
    return done === true ? undefined : value;
  };
}

test("the socket is for its owner alone, and is gone after the end", async () => {
  expect((await stat(api.socketPath)).mode & 0o777).toBe(0o600);
  await api.stop();
  await expect(stat(api.socketPath)).rejects.toThrow("ENOENT");
});

test("a second agent on the same socket is refused, a dead one's socket is replaced", async () => {
  const stopping = new AbortController();
  const clock = { nowMs: () => 1_800_000_000_000 };
  const serve = (socketPath: string) =>
    runLocalApi(view, { socketPath, clock }, () => stopping.abort(), stopping.signal);
  await expect(serve(api.socketPath)).rejects.toThrow("another agent is running");
  const leftBehind = join(api.dataDir, "left.sock");
  await writeFile(leftBehind, "");
  await serve(leftBehind);
  expect(stopping.signal.aborted).toBe(true);
  expect(await readdir(api.dataDir)).toEqual(["berth.sock"]);
});

test("lists pods of all namespaces or of one, sorted and selected", async () => {
  view.put(runningPod("web", { labels: { app: "web" } }));
  view.put(runningPod("api", { namespace: "team", uid: "uid-2", labels: { app: "api" } }));
  view.put(runningPod("db", { labels: { app: "db" } }));
  const names = async (path: string) => {
    const { body } = await fetchJson(path);
    return body.items.map((pod: { metadata: { name: string } }) => pod.metadata.name);
  };
  expect(await names("/api/v1/pods")).toEqual(["db", "web", "api"]);
  expect(await names("/api/v1/namespaces/team/pods")).toEqual(["api"]);
  expect(await names("/api/v1/pods?labelSelector=app%20in%20(web,api)")).toEqual(["web", "api"]);
  expect(await names("/api/v1/pods?fieldSelector=metadata.name%3Ddb")).toEqual(["db"]);
  expect((await fetchJson("/api/v1/pods?labelSelector=a%3Db%3Dc")).code).toBe(400);
  expect((await fetchJson("/api/v1/pods?fieldSelector=spec.color%3Dred")).body.message).toContain(
    "field label not supported: spec.color",
  );
});

test("one pod is read with kind and version; a missing one is a Status of 404", async () => {
  view.put(runningPod("web"));
  const { body } = await fetchJson("/api/v1/namespaces/default/pods/web");
  expect(body).toMatchObject({ kind: "Pod", apiVersion: "v1", metadata: { name: "web" } });
  expect(await fetchJson("/api/v1/namespaces/default/pods/none")).toEqual({
    code: 404,
    body: {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'pods "none" not found',
      reason: "NotFound",
      code: 404,
    },
  });
});

test("unknown paths, methods and bodies are refused with a Status", async () => {
  expect((await fetchJson("/api/v1/secrets")).body).toMatchObject({ code: 404 });
  expect((await fetchJson("/api/v1/pods", { method: "DELETE" })).body).toMatchObject({
    code: 405,
    reason: "MethodNotAllowed",
  });
  expect((await fetchJson("/api/v1/pods", { method: "POST", body: "x" })).body).toMatchObject({
    code: 413,
  });
  expect((await fetchJson("/api/v1/namespaces/default/pods/web/exec")).body).toMatchObject({
    code: 400,
    message: "Upgrade request required",
  });
});

test("a watch begins with what is there and sends every change", async () => {
  view.put(runningPod("web"));
  const next = await openLines("/api/v1/pods?watch=true");
  const event = async () => {
    const { type, object } = JSON.parse((await next()) ?? "null");
    return `${type} ${object.metadata.name}`;
  };
  expect(await event()).toBe("ADDED web");
  view.put(runningPod("db"));
  expect(await event()).toBe("ADDED db");
  view.put(runningPod("db"));
  expect(await event()).toBe("MODIFIED db");
  view.remove("uid-web");
  expect(await event()).toBe("DELETED web");
});

test("a watch continues where a list ended, and refuses a version that is too old", async () => {
  view.put(runningPod("web"));
  view.put(runningPod("old"));
  const { resourceVersion } = (await fetchJson("/api/v1/pods")).body.metadata;
  view.put(runningPod("db"));
  view.remove("uid-old");
  const next = await openLines(`/api/v1/pods?watch=1&resourceVersion=${resourceVersion}`);
  expect(JSON.parse((await next()) ?? "")).toMatchObject({
    type: "ADDED",
    object: { metadata: { name: "db" } },
  });
  expect(JSON.parse((await next()) ?? "")).toMatchObject({
    type: "DELETED",
    object: { metadata: { name: "old" } },
  });
  expect((await fetchJson("/api/v1/pods?watch=1&resourceVersion=7")).body).toMatchObject({
    code: 410,
    reason: "Expired",
  });
});

test("a watch that continues where a list ended sends nothing of pods outside its selection", async () => {
  view.put(runningPod("web"));
  view.put(runningPod("other"));
  const selection = "fieldSelector=metadata.uid%3Duid-web";
  const { resourceVersion } = (await fetchJson(`/api/v1/pods?${selection}`)).body.metadata;
  view.remove("uid-other");
  view.remove("uid-web");
  const watch = `/api/v1/pods?watch=1&${selection}&resourceVersion=${resourceVersion}`;
  const next = await openLines(watch);
  expect(JSON.parse((await next()) ?? "")).toMatchObject({
    type: "DELETED",
    object: { metadata: { name: "web" } },
  });
});

test("a pod that left the selection between a list and its watch is deleted from the watch", async () => {
  view.put(runningPod("web", { labels: { app: "web" } }));
  const selection = "labelSelector=app%3Dweb";
  const { resourceVersion } = (await fetchJson(`/api/v1/pods?${selection}`)).body.metadata;
  view.put(runningPod("web", { labels: { app: "other" } }));
  view.put(runningPod("last", { labels: { app: "web" } }));
  const watch = `/api/v1/pods?watch=1&${selection}&resourceVersion=${resourceVersion}`;
  const next = await openLines(watch);
  const event = async () => {
    const { type, object } = JSON.parse((await next()) ?? "null");
    return `${type} ${object.metadata.name}`;
  };
  expect(await event()).toBe("DELETED web");
  expect(await event()).toBe("ADDED last");
});

test("a pod that leaves the selection is deleted from the watch", async () => {
  view.put(runningPod("web", { labels: { app: "web" } }));
  const next = await openLines("/api/v1/pods?watch=true&labelSelector=app%3Dweb");
  await next();
  view.put(runningPod("web", { labels: { app: "other" } }));
  expect(JSON.parse((await next()) ?? "").type).toBe("DELETED");
});

test("a log is cut by lines, and a container that does not exist is refused", async () => {
  view.put(runningPod("web"));
  const path = join(api.dataDir, "0.log");
  await writeFile(
    path,
    [1, 2, 3].map((n) => `2026-01-01T00:00:0${n}Z stdout F line ${n}\n`).join(""),
  );
  view.logs.set("web/main", { path, finished: async () => true });
  const log = "/api/v1/namespaces/default/pods/web/log";
  expect(await fetchText(`${log}?tailLines=2`)).toBe("line 2\nline 3\n");
  expect(await fetchText(`${log}?sinceTime=2026-01-01T00:00:03Z&timestamps=true`)).toBe(
    "2026-01-01T00:00:03.000000000Z line 3\n",
  );
  expect((await fetchJson(`${log}?container=none`)).body.message).toBe(
    "container none is not valid for pod web",
  );
  expect((await fetchJson(`${log}?tailLines=-1`)).body.message).toContain("tailLines");
  expect((await fetchJson(`${log}?previous=true`)).body.message).toBe(
    'previous terminated container "main" in pod "web" not found',
  );
});

test("a followed log continues in the new file after rotation, losing nothing, until the end", async () => {
  view.put(runningPod("web"));
  const path = join(api.dataDir, "0.log");
  await writeFile(path, line(1));
  let finished = false;
  view.logs.set("web/main", { path, finished: async () => finished });
  const next = await openLines("/api/v1/namespaces/default/pods/web/log?follow=true");
  expect(await next()).toBe("line 1");
  await appendFile(path, line(2).slice(0, 20));
  await appendFile(path, line(2).slice(20));
  expect(await next()).toBe("line 2");
  await appendFile(path, line(3));
  await rename(path, join(api.dataDir, "0.log.20260101-000000"));
  await writeFile(path, line(4));
  expect(await next()).toBe("line 3");
  expect(await next()).toBe("line 4");
  await appendFile(path, line(5));
  finished = true;
  expect(await next()).toBe("line 5");
  expect(await next()).toBeUndefined();
});

test("an upgrade to exec reaches the runtime without credentials, and flows both ways", async () => {
  view.put(runningPod("web"));
  const seen: IncomingMessage[] = [];
  const runtime = createServer().on("upgrade", (incoming, socket) => {
    seen.push(incoming);
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello ",
    );
    socket.on("data", (data) => socket.end(data));
  });
  await new Promise<void>((resolve) => void runtime.listen(0, "127.0.0.1", resolve));
  const { port } = runtime.address() as AddressInfo;
  view.streamingUrl = new URL(`http://127.0.0.1:${port}/exec/token`);
  const answer = await upgrade("world");
  runtime.close();
  expect(answer).toMatch(/^HTTP\/1.1 101 /);
  expect(answer).toMatch(/hello world$/);
  expect(seen[0]?.url).toBe("/exec/token");
  expect(seen[0]?.headers.authorization).toBeUndefined();
  expect(seen[0]?.headers["x-stream-protocol-version"]).toBe("v4.channel.k8s.io");
  expect(view.execs).toEqual([
    {
      container: "main",
      command: ["sh", "-c"],
      stdin: true,
      stdout: true,
      stderr: false,
      tty: false,
    },
  ]);
});

test("syncs are sent as they are recorded, of one pod where that is asked for", async () => {
  const record = (podUid: string) => ({ podUid, pod: `default/${podUid}` }) as SyncRecord;
  const stopping = new AbortController();
  const client = new AgentClient(api.socketPath);
  let onOpen = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    onOpen = resolve;
  });
  const seen = client.watchSyncs("uid-2", () => onOpen(), stopping.signal);
  const first = seen.next();
  await opened;
  for (const uid of ["uid-1", "uid-2"]) for (const send of view.syncWatchers) send(record(uid));
  expect((await first).value).toMatchObject({ podUid: "uid-2" });
  stopping.abort();
  await vi.waitFor(() => expect(view.syncWatchers.size).toBe(0));
});

test("a port forward goes to the ports that were asked for, and to no other", async () => {
  view.put(runningPod("web"));
  view.streamingUrl = new URL("http://192.0.2.1:80/forward");
  const pod = runningPod("web");
  const client = new AgentClient(api.socketPath);
  const forward = (ports: string) =>
    client.upgrade(pod, { what: "portforward", query: { ports }, protocol: "p" }, never);
  await expect(forward("8080")).rejects.toThrow("streaming address is not on this machine");
  expect(view.portForwards).toEqual([[8080]]);
  await expect(forward("70000")).rejects.toThrow('ports: "70000" is not a port');
});

test("a runtime that redirects instead of upgrading ends both connections", async () => {
  view.put(runningPod("web"));
  const runtime = createServer((_, response) => {
    response.writeHead(302, { Location: "http://127.0.0.1:1/elsewhere" }).end("secret body");
  });
  await new Promise<void>((resolve) => void runtime.listen(0, "127.0.0.1", resolve));
  const { port } = runtime.address() as AddressInfo;
  view.streamingUrl = new URL(`http://127.0.0.1:${port}/exec/token`);
  const answer = await upgrade("world");
  runtime.close();
  expect(answer).toMatch(/^HTTP\/1.1 500 /);
  expect(answer).toContain("refused to upgrade the connection: HTTP 302");
  expect(answer).not.toContain("secret body");
});

test("pods are judged that the body has, and a body without pods is refused", async () => {
  const put = (body: string) => fetchJson("/berth/v1/plan", { method: "PUT", body });
  expect(await put(JSON.stringify({ pods: [runningPod("web")] }))).toMatchObject({
    code: 200,
    body: { items: [{ holdings: [], makesRoom: [] }] },
  });
  for (const body of ["{}", "no", '{"pods":[{}]}', '{"pods":{}}']) {
    expect(await put(body)).toMatchObject({ code: 400 });
  }
});

test("an exec is never forwarded to another machine", async () => {
  view.put(runningPod("web"));
  view.streamingUrl = new URL("http://192.0.2.1:80/exec");
  expect(await upgrade("")).toContain("not on this machine");
});

function line(n: number): string {
  return `2026-01-01T00:00:00Z stdout F line ${n}\n`;
}

/** Everything that comes back until the connection is closed. */
function upgrade(sendAfterUpgrade: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(api.socketPath);
    let received = "";
    socket.on("data", (data) => {
      if (received === "" && sendAfterUpgrade !== "") socket.write(sendAfterUpgrade);
      received += String(data);
    });
    socket.on("close", () => resolve(received));
    socket.on("error", reject);
    socket.write(
      "POST /api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&stdin=true&stdout=1 HTTP/1.1\r\n" +
        "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nAuthorization: Bearer x\r\n" +
        "Origin: http://evil.test\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n",
    );
  });
}
