import { describe, expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { NamespaceMode, type RuntimeHandler } from "../../model/generated/cri.ts";
import type { Pod } from "../../model/pod.ts";
import { UserNamespaces } from "./user-namespaces.ts";

const capable: RuntimeHandler[] = [
  { name: "", features: { userNamespaces: true } },
  { name: "old", features: { userNamespaces: false } },
];

function pod(uid: string, spec: Partial<Pod["spec"]> = { hostUsers: false }): Pod {
  return buildPod({
    metadata: { name: uid, namespace: "default", uid },
    spec: { containers: [], ...spec },
  });
}

const podUsers = { firstId: 65_536, length: 131_072, perPod: 65_536 };
const settings = { runtimeSettings: { podUsers } };

function open(files: MemoryFiles, handlers: readonly RuntimeHandler[] = capable): UserNamespaces {
  const runtimeFacts = { readHandlers: () => Promise.resolve(handlers) };
  return new UserNamespaces({ files, rootFolder: "/data", settings, runtimeFacts });
}

function usersFrom(hostId: number) {
  const mappings = [{ hostId, containerId: 0, length: 65_536 }];
  return { ok: true, value: { mode: NamespaceMode.POD, uids: mappings, gids: mappings } };
}

describe("users of pods", () => {
  test("are the node's unless the pod asks for its own", async () => {
    const users = open(new MemoryFiles());
    const nodes = { ok: true, value: { mode: NamespaceMode.NODE } };
    expect(await users.of(pod("a", {}), "")).toEqual(nodes);
    expect(await users.of(pod("a", { hostUsers: true }), "")).toEqual(nodes);
  });

  test("are never shared, and stay the same when the agent is restarted", async () => {
    const files = new MemoryFiles();
    const users = open(files);
    const both = await Promise.all([users.of(pod("a"), ""), users.of(pod("b"), "")]);
    expect(both).toEqual([usersFrom(65_536), usersFrom(131_072)]);
    expect(await open(files).of(pod("b"), "")).toEqual(usersFrom(131_072));
  });

  test("run out, and are free again when the pod's folder is gone", async () => {
    const files = new MemoryFiles();
    const users = open(files);
    await users.of(pod("a"), "");
    await users.of(pod("b"), "");
    expect(await users.of(pod("c"), "")).toMatchObject({ ok: false });
    await files.removeTree("/data/pods/a");
    expect(await users.of(pod("c"), "")).toEqual(usersFrom(65_536));
  });

  test.each([
    "{}",
    '{"uidMappings":[{"hostId":0,"containerId":0,"length":65536}],"gidMappings":[]}',
  ])("are not taken from a file that says %s", async (text) => {
    const files = new MemoryFiles();
    await files.writeFile("/data/pods/a/userns", text);
    expect(await open(files).of(pod("a"), "")).toEqual({
      ok: false,
      error: "user namespace: invalid user namespace mappings file",
    });
  });

  test("of another length than pods get now are not taken from a file, nor given to another", async () => {
    const files = new MemoryFiles();
    const mappings = [{ hostId: 65_536, containerId: 0, length: 131_072 }];
    const text = JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
    await files.writeFile("/data/pods/a/userns", text);
    expect(await open(files).of(pod("a"), "")).toEqual({
      ok: false,
      error: "user namespace: wrong user namespace length 131072",
    });
    expect(await open(files).of(pod("b"), "")).toMatchObject({ ok: false });
  });

  test.each([
    ["", [], "runtime does not support user namespaces"],
    ["old", capable, 'RuntimeClass handler "old" does not support user namespaces'],
    [
      "new",
      capable,
      'RuntimeClass handler "new" does not support user namespaces: the handler "new" is not known',
    ],
  ])("need a runtime that has them: %j", async (handler, handlers, problem) => {
    const found = await open(new MemoryFiles(), handlers).of(pod("a"), handler);
    expect(found).toEqual({ ok: false, error: `can't set \`spec.hostUsers: false\`, ${problem}` });
  });
});
