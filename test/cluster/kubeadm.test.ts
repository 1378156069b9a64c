import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pod } from "../../src/model/generated/kubernetes.ts";
import { claimClusterAddress } from "./support/cluster-address.ts";
import { testedAgent } from "./support/cluster-node.ts";
import type { KubeadmRequest, KubeadmResult } from "./support/kubeadm-node.ts";
import { runOnNodeMachine } from "./support/node-machine.ts";

const root = join(import.meta.dirname, "../..");
const runTimeoutMs = 600_000;

describe("a cluster made by kubeadm with Berth as the kubelet's service", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-kubeadm-"));
  let result: KubeadmResult;

  beforeAll(async () => {
    const second = await claimClusterAddress();
    const resultFile = join(folder, "result.json");
    try {
      await runOnNodeMachine((first) => {
        const networks = [first, second.network] as const;
        const request: KubeadmRequest = { agent: testedAgent, networks, resultFile };
        const program = ["tools/run.mjs", "test/cluster/support/kubeadm-node.ts"];
        const files = program.map((file) => join(root, file));
        return [process.execPath, ...files, "init", JSON.stringify(request)];
      });
    } finally {
      await second.release();
    }
    result = JSON.parse(readFileSync(resultFile, "utf8")) as KubeadmResult;
  }, runTimeoutMs);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("brings up the control plane from static pods alone", () => {
    // The API server lists them by their names.
    expect(result.staticPods.map(({ metadata }) => metadata?.name)).toEqual([
      "etcd-control-a",
      "kube-apiserver-control-a",
      "kube-controller-manager-control-a",
      "kube-scheduler-control-a",
    ]);
    expect(result.staticPods.flatMap(restartCounts)).toEqual([0, 0, 0, 0]);
  });

  it("keeps the control plane's containers over a restart of the service", () => {
    expect(result.staticPodsLater.map(containerIds)).toEqual(result.staticPods.map(containerIds));
  });

  it("takes the labels and taints that kubeadm gives a control plane's node", () => {
    const control = result.nodes.find(({ metadata }) => metadata?.name === "control-a");
    expect(control?.metadata?.labels).toHaveProperty("node-role.kubernetes.io/control-plane");
    expect(control?.spec?.taints?.map(({ key }) => key)).toEqual([
      "node-role.kubernetes.io/control-plane",
    ]);
  });

  it("joins a node by a bootstrap token, which it exchanges for a certificate that it rotates", () => {
    expect(result.nodes.map(({ metadata }) => metadata?.name)).toEqual(["control-a", "worker-b"]);
    expect(result.joinedKubeconfig).toContain("/var/lib/kubelet/pki/kubelet-client-current.pem");
    expect(result.joinedKubeconfig).not.toContain("token");
  });
});

function restartCounts({ status }: Pod): readonly (number | undefined)[] {
  return (status?.containerStatuses ?? []).map(({ restartCount }) => restartCount);
}

function containerIds({ status }: Pod): readonly (string | undefined)[] {
  return (status?.containerStatuses ?? []).map(({ containerID }) => containerID);
}
