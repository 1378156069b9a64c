import { expect, test } from "vitest";
import { dockerConfigFiles } from "../../core/image/docker-config.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { NodeLogins } from "./node-logins.ts";

const candidates = dockerConfigFiles({ root: "/var/lib/kubelet", working: "/work", home: "/root" });
const auths = (username: string) => ({ "a.io": { username, password: "p" } });
const json = (username: string) => JSON.stringify({ auths: auths(username) });

async function world(texts: Readonly<Record<string, string>>) {
  const files = new MemoryFiles();
  for (const [path, text] of Object.entries(texts)) {
    await files.ensureFolder(path.slice(0, path.lastIndexOf("/")));
    await files.writeFile(path, text);
  }
  const time = { ms: 0 };
  const warnings: unknown[] = [];
  const log = (): void => undefined;
  const logins = new NodeLogins({
    candidates,
    files,
    clock: { monotonicMs: () => time.ms },
    log: { debug: log, info: log, warn: (...text) => warnings.push(text), error: log },
  });
  const users = async () => (await logins.logins()).map(({ username }) => username);
  return { files, time, warnings, users };
}

test("the kubelet's own folder comes before the others, and Docker's newer files before the old ones", async () => {
  const all = {
    "/var/lib/kubelet/config.json": json("kubelet"),
    "/work/config.json": json("working"),
    "/root/.docker/config.json": json("home"),
    "/.docker/config.json": json("root"),
    "/var/lib/kubelet/.dockercfg": JSON.stringify(auths("old kubelet")),
    "/work/.dockercfg": JSON.stringify(auths("old working")),
    "/root/.dockercfg": JSON.stringify(auths("old home")),
    "/.dockercfg": JSON.stringify(auths("old root")),
  };
  const order: string[] = [];
  const left: Record<string, string> = { ...all };
  for (const { path } of candidates) {
    order.push(...(await (await world(left)).users()));
    delete left[path];
  }
  expect(order).toEqual([
    "kubelet",
    "working",
    "home",
    "root",
    "old kubelet",
    "old working",
    "old home",
    "old root",
  ]);
  expect(await (await world({})).users()).toEqual([]);
});

test("a file that cannot be understood is passed over and named, without what it says", async () => {
  const secret = "s3cret";
  const { users, warnings } = await world({
    "/var/lib/kubelet/config.json": `{"auths": {"a.io": {"auth": "${secret}"}}}`,
    "/root/.docker/config.json": json("home"),
  });
  expect(await users()).toEqual(["home"]);
  expect(JSON.stringify(warnings)).toContain("/var/lib/kubelet/config.json");
  expect(JSON.stringify(warnings)).not.toContain(secret);
});

test("the files are read again after five minutes", async () => {
  const { users, files, time } = await world({ "/root/.docker/config.json": json("one") });
  expect(await users()).toEqual(["one"]);
  await files.writeFile("/root/.docker/config.json", json("two"));
  expect(await users()).toEqual(["one"]);
  time.ms = 5 * 60_000;
  expect(await users()).toEqual(["two"]);
});
