import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Node } from "../../src/model/generated/kubernetes.ts";
import { createPod, isReady, podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import { kubernetesVersion } from "./support/cluster-programs.ts";
import { ClusterWorld } from "./support/cluster-world.ts";

/** Shows that the tests' cluster is one: everything here is Kubernetes' own. */
describe("the tests' cluster with Kubernetes' own kubelet", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start("kubelet");
  });

  afterAll(() => world.close());

  test("has one node of the release that Berth is compared with", async () => {
    const node = await world.api.get<Node>(`/api/v1/nodes/${world.node.name}`);
    expect(node.status?.nodeInfo?.kubeletVersion).toBe(`v${kubernetesVersion}`);
    expect(node.status?.addresses).toContainEqual({
      type: "InternalIP",
      address: world.plane.address,
    });
  });

  test("runs a pod, lets kubectl look inside, and ends it", async () => {
    await createPod(world.api, "first");
    await untilPod(world.api, "first", isReady);
    expect(await world.kubectl.run("exec", "first", "--", "echo", "hello")).toBe("hello\n");
    await world.api.delete(`${podsPath}/first`);
    await untilNoPods(world.api);
  });

  test("keeps a node from what is not its own", async () => {
    const node = world.kubectlAs(world.plane.nodeKubeconfig("node-b"));
    const refused = await node.attempt("label", "node", world.node.name, "a=b");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("forbidden");
  });

  test("comes back after its API server was killed", async () => {
    await world.plane.killApiServer();
    await world.plane.restartApiServer();
    await createPod(world.api, "second");
    const { spec } = await untilPod(world.api, "second", isReady);
    expect(spec.nodeName).toBe(world.node.name);
  });
});
