import { request } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { InMemoryAgentView } from "../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../test/fakes/served-api.ts";
import { runningPod } from "../../test/kit/pods.ts";
import { defaultPod } from "../model/defaults/default-pod.ts";

let api: ServedApi;
let view: InMemoryAgentView;

beforeEach(async () => {
  view = new InMemoryAgentView();
  const pod = runningPod("web");
  view.put({ ...pod, spec: defaultPod(pod).spec });
  api = await serveApi(view);
});
afterEach(() => api.stop());

const path = "/api/v1/namespaces/default/pods/web/ephemeralcontainers";
const strategic = "application/strategic-merge-patch+json";

interface Answer {
  readonly code: number | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

function send(method: string, type: string, text: string, to = path): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": type };
    const options = { socketPath: api.socketPath, path: to, method, headers, agent: false };
    request(options, (response) => {
      let answer = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        answer += part;
      });
      response.on("end", () => {
        resolve({ code: response.statusCode, body: JSON.parse(answer) as Answer["body"] });
      });
    })
      .on("error", reject)
      .end(text);
  });
}

const adding = (...names: readonly string[]): string =>
  JSON.stringify({ spec: { ephemeralContainers: names.map((name) => ({ name, image: "a:1" })) } });

test("a patch adds a container, and the answer is the pod with it", async () => {
  expect((await send("PATCH", strategic, adding("one"))).code).toBe(200);
  const { code, body } = await send("PATCH", `${strategic}; charset=utf-8`, adding("two"));
  expect(code).toBe(200);
  expect(body).toMatchObject({
    kind: "Pod",
    spec: { ephemeralContainers: [{ name: "one" }, { name: "two", image: "a:1" }] },
  });
  expect(view.findPod("default", "web")?.spec.ephemeralContainers).toHaveLength(2);
});

test("a put and a merge patch bring the whole list", async () => {
  expect((await send("PUT", "application/json", adding("one"))).code).toBe(200);
  const less = await send("PATCH", "application/merge-patch+json", adding("two"));
  expect(less).toMatchObject({ code: 422, body: { reason: "Invalid" } });
  expect((await send("PUT", "application/json", adding("one", "two"))).code).toBe(200);
});

test("what is not understood is refused before anything is changed", async () => {
  const refused = [
    [await send("PATCH", "application/json-patch+json", "[]"), 415],
    [await send("PATCH", strategic, "{"), 400],
    [await send("PATCH", strategic, adding("main")), 422],
    [await send("PATCH", strategic, " ".repeat(2_000_000)), 413],
    [await send("PATCH", strategic, adding("one"), path.replace("web", "none")), 404],
    [await send("POST", "application/json", adding("one")), 413],
    [await send("DELETE", "application/json", ""), 405],
  ] as const;
  expect(refused.map(([{ code }]) => code)).toEqual(refused.map(([, expected]) => expected));
  expect(view.findPod("default", "web")?.spec.ephemeralContainers).toBeUndefined();
});
