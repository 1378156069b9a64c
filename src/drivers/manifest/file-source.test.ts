import { rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collectSnapshots, type SnapshotLog } from "../../../test/kit/snapshot-log.ts";
import type { SourceSnapshot } from "../../ports/pod-source.ts";
import { createFileSource, type FileSourceOptions } from "./file-source.ts";
import { LastGoodFiles } from "./last-good-files.ts";

let root: string;
let folder: string;
const logs: SnapshotLog[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "berth-manifests-"));
  folder = join(root, "manifests");
  await mkdir(folder);
});

afterEach(async () => {
  for (const log of logs.splice(0)) await log.stop();
  await rm(root, { recursive: true });
});

function watch(options: Partial<FileSourceOptions> = {}): SnapshotLog {
  const log = collectSnapshots(
    createFileSource({ path: folder, nodeName: "n1", mode: "up", ...options }),
  );
  logs.push(log);
  return log;
}

const podText = (name: string, image = "x") => `apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  containers:
  - name: c
    image: ${image}
`;

const names = ({ pods }: SourceSnapshot) => pods.map(({ metadata }) => metadata.name);
const image = ({ pods }: SourceSnapshot) => pods[0]?.spec.containers[0]?.image;

test("pods, config maps and secrets of all files come in one snapshot, in any order", async () => {
  await writeFile(
    join(folder, "a.yaml"),
    `${podText("web")}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n`,
  );
  await writeFile(
    join(folder, "b.json"),
    JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "key" },
      stringData: { k: "v" },
    }),
  );
  const snapshot = await watch().next();
  expect(snapshot.problems).toEqual([]);
  expect(names(snapshot)).toEqual(["web-n1"]);
  expect(snapshot.configMaps[0]?.data).toEqual({ a: "b" });
  expect(snapshot.secrets[0]).toMatchObject({ data: { k: "dg==" }, type: "Opaque" });
});

test("an atomic rename is picked up at once", async () => {
  await writeFile(join(folder, "a.yaml"), podText("a", "one"));
  const log = watch();
  expect(image(await log.next())).toBe("one");
  await writeFile(join(folder, ".a.yaml.tmp"), podText("a", "two"));
  await rename(join(folder, ".a.yaml.tmp"), join(folder, "a.yaml"));
  expect(image(await log.nextWhere((snapshot) => image(snapshot) === "two"))).toBe("two");
});

test("a removed file takes its pod away", async () => {
  await writeFile(join(folder, "a.yaml"), podText("a"));
  const log = watch();
  await log.next();
  await rm(join(folder, "a.yaml"));
  expect(names(await log.next())).toEqual([]);
});

test("a bad file is reported with its place while its last good version stays", async () => {
  await writeFile(join(folder, "a.yaml"), podText("a", "one"));
  const log = watch();
  await log.next();
  await writeFile(join(folder, "a.yaml"), podText("a").replace("image", "imaeg"));
  const bad = await log.nextWhere(({ problems }) => problems.length > 0);
  expect(image(bad)).toBe("one");
  expect(bad.problems).toEqual([
    {
      origin: join(folder, "a.yaml"),
      line: 7,
      column: 5,
      field: "spec.containers[0].imaeg",
      message: "unknown field spec.containers[0].imaeg: did you mean image?",
      pods: ["default/a-n1"],
    },
  ]);
  await writeFile(join(folder, "a.yaml"), podText("a", "two"));
  const good = await log.nextWhere((snapshot) => image(snapshot) === "two");
  expect(good.problems).toEqual([]);
});

test("a refused value is reported with the line of its field", async () => {
  await writeFile(join(folder, "a.yaml"), podText("a").replace("name: c", "name: Bad_Name"));
  const { problems, pods } = await watch().next();
  expect(pods).toEqual([]);
  expect(problems[0]).toMatchObject({ line: 6, field: "spec.containers[0].name" });
});

test("hidden files, backups and others are listed as ignored", async () => {
  await writeFile(join(folder, "a.yaml"), podText("a"));
  for (const name of [".hidden.yaml", "a.yaml~", "README.md"]) {
    await writeFile(join(folder, name), podText("b"));
  }
  const snapshot = await watch().next();
  expect(names(snapshot)).toEqual(["a-n1"]);
  expect(snapshot.ignored.map((path) => path.slice(folder.length + 1)).toSorted()).toEqual(
    [".hidden.yaml", "README.md", "a.yaml~"].toSorted(),
  );
});

test("a folder that is replaced by another is read at once", async () => {
  await writeFile(join(folder, "a.yaml"), podText("a"));
  const log = watch();
  expect(names(await log.next())).toEqual(["a-n1"]);
  await mkdir(join(root, "next"));
  await writeFile(join(root, "next", "b.yaml"), podText("b"));
  await rename(folder, join(root, "old"));
  await rename(join(root, "next"), folder);
  const replaced = await log.next();
  expect(names(replaced)).toEqual(["b-n1"]);
  await writeFile(join(folder, "c.yaml"), podText("c"));
  expect(names(await log.next())).toEqual(["b-n1", "c-n1"]);
});

test("a link that is turned to another folder is followed at once", async () => {
  const link = join(root, "current");
  await mkdir(join(root, "v2"));
  await writeFile(join(folder, "a.yaml"), podText("a"));
  await writeFile(join(root, "v2", "b.yaml"), podText("b"));
  await symlink(folder, link);
  const log = watch({ path: link });
  expect(names(await log.next())).toEqual(["a-n1"]);
  await symlink(join(root, "v2"), join(root, "swap"));
  await rename(join(root, "swap"), link);
  expect(names(await log.next())).toEqual(["b-n1"]);
});

test("a folder that does not exist yet means no pods until it does", async () => {
  const log = watch({ path: join(root, "later") });
  const missing = await log.next();
  expect(missing.problems[0]?.message).toBe(
    "does not exist: no pods are wanted from it until it is there again",
  );
  await mkdir(join(root, "later"));
  await writeFile(join(root, "later", "a.yaml"), podText("a"));
  expect(names(await log.nextWhere(({ pods }) => pods.length > 0))).toEqual(["a-n1"]);
});

test("two files with one pod: the first holds and the second is reported", async () => {
  await writeFile(join(folder, "a.yaml"), podText("web", "one"));
  await writeFile(join(folder, "b.yaml"), podText("web", "two"));
  const snapshot = await watch().next();
  expect(image(snapshot)).toBe("one");
  expect(snapshot.problems[0]).toMatchObject({
    origin: join(folder, "b.yaml"),
    message: `Pod default/web-n1 is already defined in ${join(folder, "a.yaml")}: remove or rename one of them`,
    pods: ["default/web-n1"],
  });
});

test("the kubelet reads every file that is not hidden, and only its first document", async () => {
  await writeFile(join(folder, "a.txt"), `${podText("a")}---\n${podText("b")}`);
  await writeFile(join(folder, ".b.yaml"), podText("c"));
  const snapshot = await watch({ mode: "kubelet" }).next();
  expect(names(snapshot)).toEqual(["a-n1"]);
  expect(snapshot.ignored).toEqual([]);
});

test("a manifest that is removed and written again removes the kubelet's pod and adds it again", async () => {
  const file = join(folder, "a.yaml");
  await writeFile(file, podText("web"));
  const log = watch({ mode: "kubelet" });
  expect(names(await log.next())).toEqual(["web-n1"]);
  rmSync(file);
  writeFileSync(file, podText("web"));
  expect(names(await log.next())).toEqual([]);
  expect(names(await log.next())).toEqual(["web-n1"]);
});

test("the kubelet refuses references to the API and gives a bad file up at its next full list", async () => {
  await writeFile(join(folder, "a.yaml"), podText("a"));
  const log = watch({ mode: "kubelet", rescanMs: 20 });
  await log.next();
  await writeFile(join(folder, "a.yaml"), `${podText("a")}  serviceAccountName: x\n`);
  const refused = await log.nextWhere(({ pods }) => pods.length === 0);
  expect(refused.problems[0]?.message).toBe("static pods may not reference serviceaccounts");
});

test("the kubelet's single file that never was valid does not count as an empty list of pods", async () => {
  const path = join(folder, "pod.yaml");
  await writeFile(path, "kind: Nothing");
  const log = watch({ mode: "kubelet", path });
  await writeFile(path, podText("a"));
  expect(names(await log.next())).toEqual(["a-n1"]);
});

test("a file that is broken when the agent starts keeps the version that an earlier agent saw", async () => {
  const lastGood = new LastGoodFiles(join(root, "last-good"));
  const path = join(folder, "a.yaml");
  await writeFile(path, podText("a"));
  const before = await watch({ lastGood }).next();
  await logs.pop()?.stop();
  await writeFile(path, `${podText("a")}  imag: y\n`);
  const after = await watch({ lastGood }).next();
  expect(after.pods).toEqual(before.pods);
  expect(after.problems).toHaveLength(1);
  await rm(path);
  const gone = await logs.at(-1)?.next();
  expect(gone?.pods).toEqual([]);
  expect(lastGood.load(path)).toBeUndefined();
});

test("the kubelet lets a field that does not exist pass, and names it", async () => {
  const text = podText("a").replace("image: x", "image: x\n    volumeMount: []");
  await writeFile(join(folder, "a.yaml"), text);
  const { pods, problems, unknownFields } = await watch({ mode: "kubelet" }).next();
  expect(pods).toHaveLength(1);
  expect(problems).toEqual([]);
  expect(unknownFields).toEqual([
    {
      origin: join(folder, "a.yaml"),
      line: 8,
      column: 5,
      field: "spec.containers[0].volumeMount",
      message: "unknown field spec.containers[0].volumeMount: did you mean volumeMounts?",
    },
  ]);
});

test("a field that does not exist spoils its file, by its place and its name", async () => {
  const text = podText("a").replace("image: x", "image: x\n    volumeMount: []");
  await writeFile(join(folder, "a.yaml"), text);
  const { pods, problems } = await watch().next();
  expect(pods).toEqual([]);
  expect(problems).toMatchObject([{ line: 8, field: "spec.containers[0].volumeMount" }]);
});

test.each([
  ["a.yaml", "apiVersion: v1\nkind: Pod\nkind: Pod\n", "the key kind is there twice: remove one"],
  [
    "a.json",
    '{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","name":"b"}]}}',
    "field spec.containers[0].name is there twice: remove one",
  ],
])("a key that is there twice in %s is refused by name", async (name, text, message) => {
  await writeFile(join(folder, name), text);
  const { problems } = await watch().next();
  expect(problems).toHaveLength(1);
  expect(problems[0]?.message).toContain(message);
});

test("a claim of a name that another file has, and one whose volume is missing, are named by file and field", async () => {
  const claim = (name: string, spec = "") => `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  ${spec}
`;
  await writeFile(join(folder, "a.yaml"), claim("data"));
  await writeFile(join(folder, "b.yaml"), claim("data"));
  await writeFile(
    join(folder, "c.yaml"),
    `${podText("web")}---\n${claim("x", "volumeName: disk")}`,
  );
  const log = watch();
  const { claims, problems, pods } = await log.next();
  expect(claims?.map(({ metadata }) => metadata?.name)).toEqual(["data", "x"]);
  expect(pods).toHaveLength(1);
  expect(problems).toEqual([
    {
      origin: join(folder, "b.yaml"),
      field: "metadata.name",
      message: `PersistentVolumeClaim default/data is already defined in ${join(folder, "a.yaml")}: remove or rename one of them`,
    },
    {
      origin: join(folder, "c.yaml"),
      field: "spec.volumeName",
      message: expect.stringMatching(
        /^PersistentVolumeClaim default\/x: PersistentVolume "disk" is not in the manifests: /,
      ),
    },
  ]);
  await writeFile(
    join(folder, "d.yaml"),
    `apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, local: {path: /srv/disk}}
`,
  );
  const later = await log.next();
  expect(later.persistentVolumes).toHaveLength(1);
  expect(later.problems.map(({ field }) => field)).toEqual(["metadata.name"]);
});
