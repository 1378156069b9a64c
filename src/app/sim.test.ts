import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SourceSnapshot } from "../ports/pod-source.ts";
import { simSource } from "./sim.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-sim-sources-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function writePod(file: string, name: string, script?: string): Promise<string> {
  const path = join(folder, file);
  const annotations = script === undefined ? {} : { "sim.berth.dev/main": script };
  const containers = [{ name: "main", image: "app:1" }];
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations },
    spec: { containers },
  };
  await writeFile(path, JSON.stringify(pod));
  return path;
}

interface Delivered extends SourceSnapshot {
  /** The pods whose scripts were set before. */
  readonly scripted: readonly string[];
}

async function deliver(...paths: readonly string[]): Promise<Delivered> {
  const scripted: string[] = [];
  const source = await simSource(paths, "node", ({ metadata }) => scripted.push(metadata.name));
  const end = new AbortController();
  const snapshot = await new Promise<SourceSnapshot>((resolve, reject) => {
    source.run({ deliver: resolve, report: () => undefined }, end.signal).catch(reject);
  });
  end.abort();
  return { ...snapshot, scripted };
}

function namesOf({ pods }: SourceSnapshot): readonly string[] {
  return pods.map(({ metadata }) => metadata.name).toSorted();
}

test("the examples are understood", async () => {
  const delivered = await deliver("examples/sim");
  expect(delivered.problems).toEqual([]);
  expect(namesOf(delivered)).toEqual(["crash-node", "probed-node", "stubborn-node"]);
});

test("several files and folders are one source; a pod with a name that is taken is reported", async () => {
  const [web, db] = [await writePod("web.json", "web"), await writePod("db.json", "db")];
  const both = await deliver(web, db, web);
  expect(namesOf(both)).toEqual(["db-node", "web-node"]);
  expect(both.problems).toEqual([]);
  const doubled = await deliver(web, folder);
  expect(namesOf(doubled)).toEqual(["db-node", "web-node"]);
  expect(doubled.problems).toMatchObject([{ origin: "default/web-node", field: "metadata.name" }]);
});

test("a pod with a bad script is refused with its annotation; others are not", async () => {
  await writePod("web.json", "web", "run 5s");
  await writePod("bad.json", "bad", "walk");
  const { scripted, problems, ...delivered } = await deliver(folder);
  expect(namesOf({ problems, ...delivered })).toEqual(["web-node"]);
  expect(scripted).toEqual(["web-node"]);
  expect(problems).toMatchObject([
    { origin: "pod default/bad-node", field: "metadata.annotations[sim.berth.dev/main]" },
  ]);
  expect(problems[0]?.message).toContain(
    'the pod is refused: "walk" is not understood; allowed is',
  );
});

test("what is not there cannot be simulated", async () => {
  await expect(deliver(join(folder, "none.yaml"))).rejects.toThrow(
    /none\.yaml: no such file or folder: give manifests/,
  );
});
