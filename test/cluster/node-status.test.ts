import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Event, Lease, Node } from "../../src/model/generated/kubernetes.ts";
import { ClusterWorld } from "./support/cluster-world.ts";

const nodePath = "/api/v1/nodes/node-a";
const flags = [
  "--node-labels=zone=a,example.com/b=c",
  "--register-with-taints=dedicated=x:NoSchedule",
];

/** Without what is of one moment or one object only. */
function comparable({ metadata, spec, status }: Node): unknown {
  const { conditions = [], images = [], ...rest } = status ?? {};
  const {
    uid: _uid,
    resourceVersion: _version,
    creationTimestamp: _created,
    managedFields: _fields,
    ...kept
  } = metadata ?? {};
  return {
    metadata: kept,
    spec: {
      ...spec,
      taints: spec?.taints?.filter(({ key }) => !key.startsWith("node.kubernetes.io/")),
    },
    status: {
      ...rest,
      conditions: conditions.map(({ type, status: is, reason, message }) => ({
        type,
        is,
        reason,
        message,
      })),
      images: images.map(({ names }) => names),
    },
  };
}

/** How often an agent said that it starts. */
function startsOf(events: readonly Event[]): number {
  return events
    .filter(({ reason }) => reason === "Starting")
    .reduce((sum, { count = 1 }) => sum + count, 0);
}

describe("what a node says of itself", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start("kubelet", { flags: () => flags });
  });

  afterAll(() => world.close());

  test("is what Kubernetes' own kubelet says of it", async () => {
    const theirs = await world.api.get<Node>(nodePath);
    expect(theirs.status?.conditions).toHaveLength(4);
    await world.node.stop();
    await world.kubectl.run("delete", "node", "node-a");
    await world.startNode("berth");
    const ours = await world.api.get<Node>(nodePath);
    expect(comparable(ours)).toEqual(comparable(theirs));
  });

  /** Resolves when the agent has said that it starts. It need not report an unchanged status again. */
  async function replaceAgent(agent: "kubelet" | "berth"): Promise<void> {
    const events = "/api/v1/namespaces/default/events";
    const before = startsOf(await world.api.list<Event>(events));
    await world.node.stop();
    await world.startNode(agent);
    await world.api.until<Event>(events, (items) => startsOf(items) > before);
  }

  test("is the same for a node that a kubelet has left", async () => {
    const before = await world.api.get<Node>(nodePath);
    await replaceAgent("kubelet");
    await replaceAgent("berth");
    const after = await world.api.get<Node>(nodePath);
    expect(comparable(after)).toEqual(comparable(before));
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
  });

  test("comes back when the node is deleted under its agent, with a lease", async () => {
    const before = await world.api.get<Node>(nodePath);
    await world.kubectl.run("delete", "node", "node-a");
    const [node] = await world.api.until<Node>(
      "/api/v1/nodes",
      ([found]) => found !== undefined && found.metadata?.uid !== before.metadata?.uid,
      60_000,
    );
    expect(node?.metadata?.labels).toMatchObject({ zone: "a", "example.com/b": "c" });
    await world.api.until<Lease>(
      "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
      ([lease]) => lease?.metadata?.ownerReferences?.[0]?.uid === node?.metadata?.uid,
      60_000,
    );
  });
});
