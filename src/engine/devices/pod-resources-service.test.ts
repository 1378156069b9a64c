import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { noPinning, testManagers } from "../../../test/kit/test-managers.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import type { PodResourcesApi, PodResourcesHandler } from "../../ports/pod-resources.ts";
import { PodTable } from "../pods/pod-table.ts";
import { Holders } from "./holders.ts";
import { PodResourcesService } from "./pod-resources-service.ts";

test("programs of the node are answered at the kubelet's socket, and their calls counted", async () => {
  const table = new PodTable();
  const files = new MemoryFiles();
  const metrics = new MetricsRegistry(metricDefinitions);
  const nothing = (): void => undefined;
  const { managers, managerMetrics } = testManagers({
    table,
    files,
    metrics,
    settings: { node: { managers: noPinning } },
    holders: new Holders({ table, active: { has: () => true }, sources: { areAllReady: true } }),
    wakeups: { lookAtCpus: nothing, look: nothing, updateNode: nothing },
  });
  await managers.start();
  const active = testPod({ containers: [{ name: "main" }] }, { name: "active" });
  const ended = testPod({ containers: [{ name: "main" }] }, { name: "ended" });
  const served: { readonly path: string; readonly handler: PodResourcesHandler }[] = [];
  const parts = {
    podResourcesApi: {
      serve: async (path, handler) => {
        served.push({ path, handler });
        return { close: () => Promise.resolve() };
      },
    } satisfies PodResourcesApi,
    settings: { node: { managers: noPinning } },
    files,
    rootFolder: "/data",
    managers,
    managerMetrics,
    active: { list: () => [active] },
    registry: { list: () => [active, ended] },
  };
  const service = new PodResourcesService(parts);
  const end = new AbortController();
  const run = service.run(end.signal);
  await expect
    .poll(() => served.map(({ path }) => path))
    .toEqual(["/data/pod-resources/kubelet.sock"]);
  end.abort();
  await run;
  const shown = (name: string): object => ({
    name,
    namespace: "default",
    containers: [{ name: "main", devices: [], cpuIds: [], memory: [], dynamicResources: [] }],
  });
  expect(service.list()).toEqual({ podResources: [shown("active")] });
  const gates = { ...noPinning.gates, listsEndedPods: true };
  const settings = { node: { managers: { gates } } };
  const all = new PodResourcesService({ ...parts, settings });
  expect(all.list()).toEqual({ podResources: [shown("active"), shown("ended")] });
  const alpha = (name: string): object => ({
    name,
    namespace: "default",
    containers: [{ name: "main", devices: [] }],
  });
  expect(service.listDevices()).toEqual({ podResources: [alpha("active"), alpha("ended")] });
  const get = (podName: string): object => service.get({ podName, podNamespace: "default" });
  expect(get("ended")).toEqual({ podResources: shown("ended") });
  expect(() => get("missing")).toThrow("pod missing in namespace default not found");
  expect(service.getAllocatableResources()).toEqual({ devices: [], cpuIds: [], memory: [] });
  const text = metrics.text((name) => name.startsWith("kubelet_pod_resources_endpoint_"));
  const label = '{server_api_version="v1"}';
  expect(text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
    `kubelet_pod_resources_endpoint_errors_get${label} 1`,
    `kubelet_pod_resources_endpoint_requests_get${label} 2`,
    `kubelet_pod_resources_endpoint_requests_get_allocatable${label} 1`,
    `kubelet_pod_resources_endpoint_requests_list${label} 2`,
    `kubelet_pod_resources_endpoint_requests_total${label} 5`,
    'kubelet_pod_resources_endpoint_requests_total{server_api_version="v1alpha1"} 1',
  ]);
});
