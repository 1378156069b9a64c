import { expect, test } from "vitest";
import { plainPlanFacts } from "../../../test/kit/plan-facts.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { planPod } from "../../core/pod/plan-pod.ts";
import type { ResizeStep } from "../../core/pod/step.ts";
import type { UpdatePodSandboxResourcesRequest } from "../../model/generated/cri.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import { resizePod } from "./resize-pod.ts";

const mebibyte = 1024n * 1024n;

function podWith(resources: ResourceRequirements): Pod {
  return testPod({ containers: [{ name: "web", resources }] });
}

function limited(cpu: string, memory: string): ResourceRequirements {
  return { requests: { cpu: "100m", memory: "16Mi" }, limits: { cpu, memory } };
}

/** Resizes a running pod; returns everything that was changed, in order. */
async function resized(
  world: ExecutorWorld,
  [from, to]: readonly [ResourceRequirements, ResourceRequirements],
  refusal?: RuntimeError,
): Promise<{ readonly changes: readonly string[]; readonly failure: string | undefined }> {
  await start(world, podWith(from));
  const changes: string[] = [];
  const update = world.cgroups.update.bind(world.cgroups);
  world.cgroups.update = (pod, resources) => {
    changes.push(`cgroup ${Object.keys(resources).join(" ")}`);
    return update(pod, resources);
  };
  world.runtime.intercept = (method, phase) => {
    if (phase !== "before" || !method.startsWith("Update")) return;
    changes.push(method);
    if (refusal !== undefined && method === refusal.method) throw refusal;
  };
  const outcome = await resizePod(world.deps.resize, await request(world, podWith(to)));
  return { changes, failure: outcome.failure?.message };
}

async function start(world: ExecutorWorld, pod: Pod): Promise<void> {
  await world.cgroups.update(pod, world.cgroups.wanted(pod));
  await world.sync(pod);
}

/** The container uses so much of the memory. */
function use(world: ExecutorWorld, usageBytes: bigint): void {
  const runtime: ContainerRuntime = world.runtime;
  runtime.listContainerStats = async (_filter, signal) => {
    const containers = await runtime.listContainers({}, signal);
    const memory = { usageBytes: { value: usageBytes } };
    return containers.map(({ id }) => ({ attributes: { id }, memory }));
  };
}

async function request(world: ExecutorWorld, pod: Pod) {
  const observed = await world.read(pod);
  const plan = planPod({
    pod,
    observed,
    livenessResults: new Map(),
    startupResults: new Map(),
    restartAllContainers: false,
    actuatedResources: world.actuated.get(pod.metadata.uid) ?? { containers: new Map() },
    ...plainPlanFacts,
  });
  const step = plan.steps.find((one): one is ResizeStep => one.kind === "resize");
  if (step === undefined) throw new Error("nothing to resize");
  return { pod, sandboxId: plan.sandboxId ?? "", step };
}

test("a pod grows before its containers, memory before CPU", async () => {
  const world = new ExecutorWorld();
  const { changes, failure } = await resized(world, [limited("1", "64Mi"), limited("2", "96Mi")]);
  expect(failure).toBeUndefined();
  expect(changes).toEqual([
    "UpdatePodSandboxResources",
    "cgroup memoryBytes",
    "UpdateContainerResources",
    "UpdatePodSandboxResources",
    "cgroup cpuPeriodUs cpuQuotaUs",
    "UpdateContainerResources",
  ]);
  expect(world.actuated.get(podUid("uid-1"))?.containers.get("web")?.limits).toEqual({
    cpu: "2",
    memory: "96Mi",
  });
});

test("a pod shrinks after its containers", async () => {
  const world = new ExecutorWorld();
  use(world, mebibyte);
  const { changes } = await resized(world, [limited("2", "96Mi"), limited("2", "64Mi")]);
  expect(changes).toEqual([
    "UpdateContainerResources",
    "UpdatePodSandboxResources",
    "cgroup memoryBytes",
  ]);
});

test("a limit below what is in use is not set", async () => {
  const world = new ExecutorWorld();
  world.cgroups.usageBytes = 80n * mebibyte;
  use(world, 70n * mebibyte);
  const { changes, failure } = await resized(world, [limited("2", "96Mi"), limited("2", "64Mi")]);
  expect(changes).toEqual([]);
  expect(failure).toBe(
    "cannot decrease memory limits: [attempting to set pod memory limit (67108864) below current usage (83886080), " +
      'attempting to set container "web" memory limit (67108864) below current usage (73400320)]',
  );
});

test.each([
  new RuntimeError("UpdatePodSandboxResources", "Unimplemented", "unknown method"),
  new RuntimeError("UpdatePodSandboxResources", "Unknown", "not implemented yet"),
])("a runtime without resources of sandboxes does not stop a resize: $message", async (error) => {
  const world = new ExecutorWorld();
  const sizes = [limited("1", "64Mi"), limited("1", "96Mi")] as const;
  const { changes, failure } = await resized(world, sizes, error);
  expect(failure).toBeUndefined();
  expect(changes).toContain("UpdateContainerResources");
});

test("a runtime that refuses the pod's resources keeps everything as it was", async () => {
  const world = new ExecutorWorld();
  const error = new RuntimeError("UpdatePodSandboxResources", "Internal", "too much");
  const sizes = [limited("1", "64Mi"), limited("1", "96Mi")] as const;
  const { changes, failure } = await resized(world, sizes, error);
  expect(changes).toEqual(["UpdatePodSandboxResources"]);
  expect(failure).toMatch(
    /^failed to notify runtime for UpdatePodSandboxResources \(resource=memory\); resize rejected: .*desc = too much$/,
  );
});

test("where the kernel refuses the pod's limit, the runtime gets the old one again", async () => {
  const world = new ExecutorWorld();
  await start(world, podWith(limited("1", "64Mi")));
  const sent: (bigint | undefined)[] = [];
  world.runtime.updatePodSandboxResources = async ({
    resources,
  }: UpdatePodSandboxResourcesRequest) => {
    sent.push(resources?.memoryLimitInBytes);
  };
  world.cgroups.update = async () => {
    throw new Error("memory.limit_in_bytes: busy");
  };
  const after = podWith(limited("1", "96Mi"));
  const { failure } = await resizePod(world.deps.resize, await request(world, after));
  expect(failure).toEqual({
    code: "ResizePodInPlaceError",
    message: "memory.limit_in_bytes: busy",
  });
  expect(sent).toEqual([96n * mebibyte, 64n * mebibyte]);
  expect(world.actuated.get(podUid("uid-1"))?.containers.get("web")?.limits?.["memory"]).toBe(
    "64Mi",
  );
});
