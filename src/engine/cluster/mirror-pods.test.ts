import { describe, expect, it } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { MirrorPods } from "./mirror-pods.ts";

const path = "/api/v1/namespaces/ns/pods/web-node-a";
const fullName = "web-node-a_ns";
const node = { metadata: { name: "node-a", uid: "node-uid" } };

function staticPod(hash: string): Pod {
  return buildPod({
    metadata: {
      name: "web-node-a",
      namespace: "ns",
      uid: hash,
      annotations: { "kubernetes.io/config.hash": hash, "kubernetes.io/config.source": "file" },
    },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
}

function setUp(pod: Pod | undefined) {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  const state = {
    pod,
    isEnding: false,
    mayCome: false,
    startedUid: undefined as PodUid | undefined,
  };
  const mirrors = new MirrorPods({
    api,
    clock,
    log: silentLog,
    nodes: { items: new Map([["node-a", node]]) },
    nodeName: "node-a",
    registry: {
      staticPod: () => state.pod,
      mirror: () => api.get(path) as unknown as Pod | undefined,
    },
    states: {
      isPodForMirrorPodTerminatingByFullName: () => state.isEnding,
      startedStaticPod: () => state.startedUid,
    },
    sources: {
      get areAllReady() {
        return !state.mayCome;
      },
    },
    lifetime: new AbortController().signal,
  });
  const hash = () =>
    api.get(path)?.metadata["annotations"] as Readonly<Record<string, string>> | undefined;
  return { clock, api, mirrors, state, hash: () => hash()?.["kubernetes.io/config.mirror"] };
}

describe("MirrorPods", () => {
  it("keeps a mirror pod until every source has delivered its pods", async () => {
    const { clock, mirrors, state, hash } = setUp(staticPod("one"));
    mirrors.look(fullName);
    await clock.advance(0);
    Object.assign(state, { pod: undefined, mayCome: true });
    mirrors.look(fullName);
    await clock.advance(0);
    expect(hash()).toBe("one");
    state.mayCome = false;
    mirrors.look(fullName);
    await clock.advance(0);
    expect(hash()).toBeUndefined();
  });

  it("creates a mirror pod that belongs to the node, once", async () => {
    const { clock, api, mirrors } = setUp(staticPod("one"));
    mirrors.look(fullName);
    mirrors.look(fullName);
    await clock.advance(0);
    expect(api.get(path)?.metadata).toMatchObject({
      annotations: { "kubernetes.io/config.mirror": "one" },
      ownerReferences: [{ kind: "Node", name: "node-a", uid: "node-uid", controller: true }],
    });
    expect(api.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  it("replaces a mirror pod of another version, and one that is being deleted", async () => {
    const { clock, api, mirrors, state, hash } = setUp(staticPod("one"));
    mirrors.look(fullName);
    await clock.advance(0);
    state.pod = staticPod("two");
    mirrors.look(fullName);
    await clock.advance(0);
    expect(hash()).toBe("two");
    const { uid } = api.get(path)?.metadata ?? {};
    await api.send({ method: "DELETE", path }, new AbortController().signal);
    mirrors.look(fullName);
    await clock.advance(0);
    expect(api.get(path)?.metadata.uid).not.toBe(uid);
    expect(api.get(path)?.metadata.deletionTimestamp).toBeUndefined();
  });

  it("deletes the mirror pod when the static pod is gone, but not while it still ends", async () => {
    const { clock, api, mirrors, state } = setUp(staticPod("one"));
    mirrors.look(fullName);
    await clock.advance(0);
    state.pod = undefined;
    state.isEnding = true;
    mirrors.look(fullName);
    await clock.advance(0);
    expect(api.get(path)).toBeDefined();
    state.isEnding = false;
    mirrors.look(fullName);
    await clock.advance(0);
    expect(api.get(path)).toBeUndefined();
  });

  it("shows a new version only when the one before it has ended", async () => {
    const { clock, mirrors, state, hash } = setUp(staticPod("one"));
    mirrors.look(fullName);
    await clock.advance(0);
    Object.assign(state, { pod: staticPod("two"), startedUid: podUid("one"), isEnding: true });
    mirrors.look(fullName);
    await clock.advance(0);
    expect(hash()).toBe("one");
    Object.assign(state, { startedUid: podUid("two"), isEnding: false });
    mirrors.look(fullName);
    await clock.advance(0);
    expect(hash()).toBe("two");
  });

  it("goes on when the API server comes back", async () => {
    const { clock, api, mirrors, hash } = setUp(staticPod("one"));
    api.goDown();
    mirrors.look(fullName);
    await clock.advance(120_000);
    api.comeBack();
    await clock.advance(60_000);
    expect(hash()).toBe("one");
  });
});
