import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { PodDevices } from "./plugin/pod-devices.ts";
import { listPodDevices } from "./pod-resources.ts";

test("the API's first version shows the devices of containers, and neither init containers nor NUMA nodes", () => {
  const pod = testPod({
    containers: [{ name: "main" }, { name: "other" }],
    initContainers: [{ name: "sidecar", restartPolicy: "Always" }],
  });
  const { uid, name, namespace } = pod.metadata;
  const podDevices = new PodDevices();
  for (const container of ["main", "sidecar"]) {
    const idsByNode = new Map([[1, ["a"]]]);
    podDevices.add({ pod: uid, container, resource: "x.io/gpu", idsByNode, response: {} });
  }
  expect(listPodDevices({ devices: { podDevices } }, [pod])).toEqual({
    podResources: [
      {
        name,
        namespace,
        containers: [
          { name: "main", devices: [{ resourceName: "x.io/gpu", deviceIds: ["a"] }] },
          { name: "other", devices: [] },
        ],
      },
    ],
  });
});
