import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { podResourcesApi } from "../../src/drivers/pod-resources/pod-resources.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const run = promisify(execFile);

test("Kubernetes' own client reads what pods hold", async () => {
  const folder = makeTestFolder("pod-resources");
  onTestFinished(() => removeFolder(folder));
  const socket = join(folder, "kubelet.sock");
  const pod = {
    name: "p",
    namespace: "ns",
    containers: [
      {
        name: "c",
        devices: [
          {
            resourceName: "example.com/device",
            deviceIds: ["a"],
            topology: { nodes: [{ ID: 0n }, { ID: 1n }] },
          },
        ],
        cpuIds: [0n, 300n],
        memory: [{ memoryType: "memory", size: 2n ** 63n, topology: { nodes: [] } }],
        dynamicResources: [
          {
            claimName: "claim",
            claimNamespace: "ns",
            claimResources: [
              { cdiDevices: [{ name: "x/y=z" }], driverName: "d", shareId: "" },
              { driverName: "e" },
            ],
          },
        ],
      },
      { name: "without" },
    ],
  };
  const server = await podResourcesApi.serve(socket, {
    list: () => ({ podResources: Array.from({ length: 1000 }, () => pod) }),
    listDevices: () => ({ podResources: [] }),
    get: ({ podName, podNamespace }) => {
      if (podName === "p" && podNamespace === "ns") return { podResources: pod };
      throw new Error(`pod ${podName} in namespace ${podNamespace} not found`);
    },
    getAllocatableResources: () => ({ cpuIds: [1n] }),
  });
  onTestFinished(() => server.close());
  const call = async (...args: readonly string[]): Promise<unknown> => {
    const program = clusterProgram("device-programs");
    const flags = ["pod-resources", `--socket=${socket}`, ...args];
    const { stdout } = await run(program, flags, { maxBuffer: 2 ** 26 });
    return JSON.parse(stdout);
  };
  const shown = {
    name: "p",
    namespace: "ns",
    containers: [
      {
        name: "c",
        devices: [
          {
            resource_name: "example.com/device",
            device_ids: ["a"],
            topology: { nodes: [{}, { ID: "1" }] },
          },
        ],
        cpu_ids: ["0", "300"],
        memory: [{ memory_type: "memory", size: "9223372036854775808", topology: {} }],
        dynamic_resources: [
          {
            claim_name: "claim",
            claim_namespace: "ns",
            claim_resources: [
              { cdi_devices: [{ name: "x/y=z" }], driver_name: "d", share_id: "" },
              { driver_name: "e" },
            ],
          },
        ],
      },
      { name: "without" },
    ],
  };
  expect(await call("--call=Get", "--namespace=ns", "--name=p")).toEqual({ pod_resources: shown });
  expect(await call("--call=List")).toEqual({
    pod_resources: Array.from({ length: 1000 }, () => shown),
  });
  expect(await call("--call=GetAllocatableResources")).toEqual({ cpu_ids: ["1"] });
  await expect(call("--call=Get", "--namespace=ns", "--name=q")).rejects.toThrow(
    "rpc error: code = Unknown desc = pod q in namespace ns not found",
  );
});
