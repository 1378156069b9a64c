import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials, makeGenericClientConstructor, type ServiceError } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { PodResourcesListerService } from "../../generated/pod-resources.ts";
import { podResourcesApi } from "./pod-resources.ts";

type Call = (
  request: object,
  done: (error: ServiceError | null, response?: object) => void,
) => void;

test("calls reach the handler, and one too many does not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-resources-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const socketPath = join(folder, "kubelet.sock");
  const pod = { name: "p", namespace: "ns", containers: [] };
  let lists = 0;
  const server = await podResourcesApi.serve(socketPath, {
    list: () => {
      lists++;
      return { podResources: [pod] };
    },
    listDevices: () => ({ podResources: [{ ...pod, name: "alpha" }] }),
    get: ({ podName, podNamespace }) => {
      if (podName === "p") return { podResources: pod };
      throw new Error(`pod ${podName} in namespace ${podNamespace} not found`);
    },
    getAllocatableResources: () => ({ cpuIds: [0n, 2n ** 40n] }),
  });
  onTestFinished(() => server.close());
  const { list } = PodResourcesListerService;
  const Client = makeGenericClientConstructor(
    {
      ...PodResourcesListerService,
      listAlpha: { ...list, path: "/v1alpha1.PodResourcesLister/List" },
    },
    "PodResourcesLister",
  );
  const client = new Client(`unix://${socketPath}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const call = (method: string, request: object): Promise<unknown> =>
    new Promise((resolve) => {
      const send = client[method]?.bind(client) as unknown as Call;
      send(request, (error, response) => resolve(error ?? response));
    });
  expect(await call("list", {})).toEqual({ podResources: [pod] });
  expect(await call("listAlpha", {})).toEqual({ podResources: [{ ...pod, name: "alpha" }] });
  const get = (podName: string): Promise<unknown> => call("get", { podName, podNamespace: "ns" });
  expect(await get("p")).toEqual({ podResources: pod });
  expect(await get("q")).toMatchObject({ code: 2, details: "pod q in namespace ns not found" });
  expect(await call("getAllocatableResources", {})).toEqual({
    devices: [],
    cpuIds: [0n, 2n ** 40n],
    memory: [],
  });
  lists = 0;
  const answers = await Promise.all(Array.from({ length: 200 }, () => call("list", {})));
  const refused = answers.filter((answer) => answer instanceof Error);
  expect(refused.length).toBe(200 - lists);
  expect(refused[0]).toMatchObject({ code: 8, details: "rejected by rate limit" });
});
