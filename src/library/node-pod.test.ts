import { afterEach, beforeEach, expect, test } from "vitest";
import { InMemoryAgentView } from "../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../test/fakes/served-api.ts";
import { runningPod } from "../../test/kit/pods.ts";
import { AgentClient } from "../cli/agent-client.ts";
import type { NodePod } from "./api.ts";
import { nodePod } from "./node-pod.ts";

let view: InMemoryAgentView;
let api: ServedApi;
let removed: string[];
beforeEach(async () => {
  view = new InMemoryAgentView();
  api = await serveApi(view);
  removed = [];
});
afterEach(() => api.stop());

function pod(name: string, isSimulated = true): NodePod {
  const client = new AgentClient(api.socketPath, "the test");
  const remove = async (namespace: string, manifest: string): Promise<void> => {
    removed.push(`${namespace}/${manifest}`);
    view.remove(`uid-${manifest}-sim`);
  };
  return nodePod({ client, isSimulated, nodeName: "SIM", remove }, "default", name);
}

test("a pod whose name in its manifest ends with that of the node is not the one without it", async () => {
  view.put(runningPod("a-sim"));
  view.put(runningPod("a-sim-sim"));
  expect((await pod("a").read()).metadata.name).toBe("a-sim");
  expect((await pod("a-sim").read()).metadata.name).toBe("a-sim-sim");
  await pod("a-sim").delete();
  expect(removed).toEqual(["default/a-sim"]);
  await expect(pod("a-sim").read()).rejects.toMatchObject({ code: "not-found" });
  expect((await pod("a").waitFor("ready")).metadata.name).toBe("a-sim");
});

test("a pod is gone also when one is there whose name begins with its own", async () => {
  view.put(runningPod("a-sim-sim"));
  await expect(pod("a").read()).rejects.toMatchObject({ code: "not-found" });
  await expect(pod("a").delete()).resolves.toBeUndefined();
});

test("a port that is not wanted any more while its pod is looked up is not opened", async () => {
  view.put(runningPod("web-sim"));
  const aborting = new AbortController();
  const reason = new Error("changed my mind");
  const forwarding = pod("web", false).forwardPort(80, { signal: aborting.signal });
  aborting.abort(reason);
  await expect(forwarding).rejects.toBe(reason);
});
