import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { InMemoryAgentView } from "../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../test/fakes/served-api.ts";
import { AgentClient } from "../cli/agent-client.ts";
import type { SourceProblem } from "../ports/pod-source.ts";
import { NodeManifests } from "./node-manifests.ts";

const never = new AbortController().signal;

/** An agent that finds fault with a file for so many looks. */
class FaultyView extends InMemoryAgentView {
  looks = 0;
  faultyLooks = 0;
  origin = "";

  override problems(): readonly SourceProblem[] {
    this.looks += 1;
    if (this.looks > this.faultyLooks) return [];
    return [{ origin: this.origin, field: "spec", message: "it is wrong" }];
  }
}

let view: FaultyView;
let api: ServedApi;
let folder: string;
let manifests: NodeManifests;
beforeEach(async () => {
  view = new FaultyView();
  api = await serveApi(view);
  folder = join(api.dataDir, "manifests");
  await mkdir(folder);
  const client = new AgentClient(api.socketPath, "the test");
  manifests = new NodeManifests({ folder, nodeName: "n1", client, problemsOf: () => [] });
});
afterEach(() => api.stop());

const settings = (name: string, value: string): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { value },
});

function apply(...objects: readonly object[]): Promise<unknown> {
  const texts = objects.map((object) => ({ path: "manifest", text: JSON.stringify(object) }));
  return manifests.apply(manifests.read(texts), never);
}

test("when one file cannot be written, those before it are as they were", async () => {
  await apply(settings("a", "old"));
  await mkdir(join(folder, "configmap_default_c.json"));
  const objects = ["a", "b", "c"].map((name) => settings(name, "new"));
  await expect(apply(...objects)).rejects.toThrow("configmap_default_c.json");
  expect(await readdir(folder)).toEqual(["configmap_default_a.json", "configmap_default_c.json"]);
  expect(await readFile(join(folder, "configmap_default_a.json"), "utf8")).toContain("old");
});

test("after a refusal the next manifest of that name is not taken for the refused one", async () => {
  view.origin = join(folder, "configmap_default_a.json");
  view.faultyLooks = 3;
  await expect(apply(settings("a", "bad"))).rejects.toThrow("it is wrong");
  await apply(settings("a", "good"));
  expect(await readFile(view.origin, "utf8")).toContain("good");
});

test("a problem that never goes away does not hold up the refusal for long", async () => {
  view.origin = join(folder, "configmap_default_a.json");
  view.faultyLooks = Number.POSITIVE_INFINITY;
  await expect(apply(settings("a", "bad"))).rejects.toThrow("it is wrong");
  expect(await readdir(folder)).toEqual([]);
});
