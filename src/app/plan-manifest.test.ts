import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type DocumentPlan, planManifest } from "./plan-manifest.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-plan-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function plan(spec: object): Promise<DocumentPlan | undefined> {
  const path = join(folder, "pod.json");
  const containers = [{ name: "main", image: "a:1" }];
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web" },
    spec: { containers, ...spec },
  };
  await writeFile(path, JSON.stringify(pod));
  const { files } = await planManifest({ path, dataDir: folder, nodeName: "n1" });
  return files[0]?.documents[0];
}

test("a field that this node cannot honour is named with what to do instead", async () => {
  const volumes = [{ name: "data", cephfs: { monitors: ["files"] } }];
  expect(await plan({ volumes })).toMatchObject({
    kind: "pod",
    rejection: {
      reason: "UnsupportedField",
      message:
        "spec.volumes[0].cephfs: not supported by this node; use the CSI driver of the storage, or mount it on the node and use hostPath",
    },
  });
});

test("limits of disk space are reported to have no effect, those of memory are not", async () => {
  const volumes = [
    { name: "disk", emptyDir: { sizeLimit: "1Mi" } },
    { name: "memory", emptyDir: { sizeLimit: "1Mi", medium: "Memory" } },
  ];
  const resources = { limits: { memory: "1Mi", "ephemeral-storage": "1Mi" } };
  const containers = [{ name: "main", image: "a:1", resources }];
  expect(await plan({ volumes, containers })).toMatchObject({
    ignored: [
      { field: "spec.volumes[0].emptyDir.sizeLimit" },
      { field: "spec.containers[0].resources.limits.ephemeral-storage" },
    ],
  });
});

test("a field that is not for nodes is reported to have no effect, unless only the default sets it", async () => {
  expect(await plan({})).toMatchObject({ ignored: [] });
  expect(await plan({ schedulerName: "mine", preemptionPolicy: "Never" })).toMatchObject({
    kind: "pod",
    rejection: undefined,
    ignored: [{ field: "spec.schedulerName" }, { field: "spec.preemptionPolicy" }],
  });
});

test("of two pods of one name the second is refused, as the agent does, but not what else its file holds", async () => {
  const pod = (name: string): string =>
    `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: main, image: "a:1"}]}\n`;
  await writeFile(join(folder, "b.yaml"), `${pod("other")}---\n${pod("web")}`);
  await writeFile(join(folder, "a.yaml"), pod("web"));
  const { files } = await planManifest({ path: folder, dataDir: folder, nodeName: "n1" });
  const [first, second] = files.map(({ documents }) => documents);
  expect(first).toMatchObject([{ kind: "pod" }]);
  expect(second).toMatchObject([
    { kind: "pod" },
    {
      kind: "doubled",
      problems: [
        {
          line: 6,
          message: `Pod default/web-n1 is already defined in ${join(folder, "a.yaml")}: remove or rename one of them`,
        },
      ],
    },
  ]);
});

test("a file that is refused defines no names", async () => {
  const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
  await writeFile(join(folder, "a.yaml"), `${good}---\nkind: Nonsense\n`);
  await writeFile(join(folder, "b.yaml"), good);
  const { files } = await planManifest({ path: folder, dataDir: folder, nodeName: "n1" });
  expect(files[1]?.documents).toMatchObject([{ kind: "object" }]);
});
