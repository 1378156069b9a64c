import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Event, Node } from "../../src/model/generated/kubernetes.ts";
import { removeFolder } from "../integration/support/remove-folder.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { ClusterWorld } from "./support/cluster-world.ts";

const nodePath = "/api/v1/nodes/node-a";
const events = "/api/v1/namespaces/default/events";

describe("a node as its settings have it", () => {
  let world: ClusterWorld;
  let folder: string;

  beforeAll(async () => {
    folder = makeTestFolder("node-settings");
    const resolvConf = join(folder, "resolv.conf");
    const searches = Array.from({ length: 30 }, (_, index) => `d${index}.example.org`);
    writeFileSync(resolvConf, `nameserver 10.1.2.3\nsearch ${searches.join(" ")}\n`);
    world = await ClusterWorld.start(testedAgent, {
      config: {
        resolvConf,
        providerID: "test://zone/node-a",
        registerWithTaints: [{ key: "example.com/kept", value: "yes", effect: "NoSchedule" }],
        logging: { format: "json" },
        maxOpenFiles: 65_536,
        runtimeRequestTimeout: "90s",
        containerLogMaxWorkers: 2,
        featureGates: { ComponentFlagz: false },
      },
      flags: () => ["--node-labels=example.com/kind=test"],
    });
  });

  afterAll(async () => {
    await world.close();
    await removeFolder(folder);
  });

  test("is registered with its labels, taints and provider id", async () => {
    const { metadata, spec } = await world.api.get<Node>(nodePath);
    expect(metadata?.labels).toMatchObject({
      "beta.kubernetes.io/arch": "amd64",
      "beta.kubernetes.io/os": "linux",
      "example.com/kind": "test",
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": "node-a",
      "kubernetes.io/os": "linux",
    });
    expect(spec?.providerID).toBe("test://zone/node-a");
    expect(spec?.taints).toContainEqual({
      key: "example.com/kept",
      value: "yes",
      effect: "NoSchedule",
    });
  });

  test("announces by an event that its resolv.conf does not fit pods", async () => {
    const found = await world.api.until<Event>(events, (items) =>
      items.some(({ reason }) => reason === "CheckLimitsForResolvConf"),
    );
    const event = found.find(({ reason }) => reason === "CheckLimitsForResolvConf");
    expect(event).toMatchObject({ type: "Warning", involvedObject: { kind: "Node" } });
    expect(event?.message).toContain("contains search line consisting of more than 29 domains!");
  });

  test("shows in its metrics which feature gates are on, and has nothing of those that are off", async () => {
    const metrics = await world.kubectl.run("get", "--raw", `${nodePath}/proxy/metrics`);
    expect(metrics).toContain('kubernetes_feature_enabled{name="ComponentFlagz",stage="BETA"} 0');
    expect(metrics).toContain('kubernetes_feature_enabled{name="ComponentStatusz",stage="BETA"} 1');
    await expect(world.kubectl.run("get", "--raw", `${nodePath}/proxy/flagz`)).rejects.toThrow(
      "could not find the requested resource",
    );
  });
});
