import { afterEach, beforeEach, expect, test } from "vitest";
import { InMemoryAgentView } from "../../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../../test/fakes/served-api.ts";
import { askForTerminal, type ServedUiPage, serveUi } from "../../../test/fakes/served-ui.ts";
import { runningPod } from "../../../test/kit/pods.ts";
import { serverFrames } from "../../../test/kit/websocket-client.ts";

const query = "namespace=default&pod=web&command=sh";
let view: InMemoryAgentView;
let api: ServedApi;
let page: ServedUiPage;

beforeEach(async () => {
  view = new InMemoryAgentView();
  view.put(runningPod("web"));
  api = await serveApi(view);
  page = await serveUi({ agentSocket: api.socketPath, terminal: true, pageFolder: "/nowhere" });
});
afterEach(async () => {
  await page.stop();
  await api.stop();
});

test.each([
  ["from another page", { Origin: "http://evil.test" }, 403, "other pages"],
  ["from no page", { Origin: "" }, 403, "other pages"],
  ["that another site made", { "Sec-Fetch-Site": "cross-site" }, 403, "other pages"],
  ["under another name", { Host: "evil.test" }, 403, "served as"],
  ["without the cookie", { Cookie: "" }, 401, "berth ui"],
  ["without the key", { "Sec-WebSocket-Protocol": "berth-terminal" }, 401, "berth ui"],
  [
    "with a wrong key",
    { "Sec-WebSocket-Protocol": "berth-terminal, berth-key.no" },
    401,
    "berth ui",
  ],
  ["of an older protocol", { "Sec-WebSocket-Version": "8" }, 400, "WebSocket"],
])("a request %s gets no terminal", async (_, headers, code, message) => {
  expect(await askForTerminal(page, query, headers)).toMatchObject({
    kind: "refused",
    code,
    message: expect.stringContaining(message),
  });
  expect(view.execs).toEqual([]);
});

test("a page without the switch has no terminal, and says which switch it is", async () => {
  await page.stop();
  page = await serveUi({ agentSocket: api.socketPath, terminal: false, pageFolder: "/nowhere" });
  expect(await askForTerminal(page, query)).toMatchObject({
    kind: "refused",
    code: 403,
    message: expect.stringContaining("--ui-terminal"),
  });
  expect(view.execs).toEqual([]);
});

test.each([
  ["a command", "namespace=default&pod=web", "command"],
  ["a pod", "namespace=default&command=sh", "pod"],
  ["a namespace", "pod=web&command=sh", "namespace"],
])("without %s there is no terminal", async (_, asked, message) => {
  expect(await askForTerminal(page, asked)).toMatchObject({
    kind: "refused",
    code: 400,
    message: expect.stringContaining(message),
  });
});

test("what the agent refuses is said in its own words", async () => {
  const answer = await askForTerminal(page, "namespace=default&pod=other&command=sh");
  if (answer.kind !== "open") throw new Error(answer.message);
  const { value } = await serverFrames(answer.socket, answer.head).next();
  expect(value.opcode).toBe(1);
  expect(JSON.parse(value.data.toString())).toEqual({ error: 'pods "other" not found' });
  answer.socket.destroy();
});
