import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { anonymous, ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { settle } from "../../../test/sim/virtual-clock.ts";
import { planRemoval } from "../../core/pod/plan-end.ts";
import { ContainerState } from "../../model/generated/cri.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { executePlan } from "./execute-plan.ts";
import { failuresText } from "./step-report.ts";

function callsOf(world: ExecutorWorld): string[] {
  return world.runtime.calls.map(({ method, name, attempt }) =>
    name === undefined ? `${method} ${attempt}` : `${method} ${name} ${attempt}`,
  );
}

function eventsOf(world: ExecutorWorld): string[] {
  return world.events.map(({ reason, message }) => `${reason}: ${message}`);
}

/** Makes the next call of the method fail. */
function failOnce(world: ExecutorWorld, method: string, error: Error, after = false): void {
  let left = 1;
  world.runtime.intercept = (called, phase) => {
    if (called !== method || phase !== (after ? "after" : "before") || left === 0) return;
    left -= 1;
    throw error;
  };
}

test("init containers run one after the other, then the regular ones all at once", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({
    initContainers: [
      { name: "first", command: ["sleep", "5"] },
      { name: "second", command: ["sleep", "5"] },
    ],
    containers: [{ name: "web" }, { name: "log" }],
  });
  await world.sync(pod);
  await world.sync(pod);
  expect(callsOf(world)).toEqual([
    "RunPodSandbox 0",
    "CreateContainer first 0",
    "StartContainer first 0",
  ]);
  world.runtime.calls.length = 0;
  await world.clock.advance(5000);
  await world.sync(pod);
  expect(callsOf(world)).toEqual(["CreateContainer second 0", "StartContainer second 0"]);
  world.runtime.calls.length = 0;
  await world.clock.advance(5000);
  await world.sync(pod);
  expect(callsOf(world)).toEqual([
    "CreateContainer web 0",
    "StartContainer web 0",
    "CreateContainer log 0",
    "StartContainer log 0",
  ]);
});

test("a sidecar starts in its place among the init containers and keeps running", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({
    initContainers: [
      { name: "proxy", restartPolicy: "Always" },
      { name: "migrate", command: ["exit", "0"] },
    ],
    containers: [{ name: "web" }],
  });
  for (let round = 0; round < 3; round++) {
    await world.sync(pod);
    await world.clock.advance(1000);
  }
  expect(callsOf(world).filter((call) => call.startsWith("Start"))).toEqual([
    "StartContainer proxy 0",
    "StartContainer migrate 0",
    "StartContainer web 0",
  ]);
  expect(world.runtime.findContainer("proxy")?.state).toBe(ContainerState.CONTAINER_RUNNING);
});

test("a sidecar that cannot start does not keep the next one from starting", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({
    initContainers: [
      { name: "proxy", restartPolicy: "Always" },
      { name: "other", restartPolicy: "Always" },
    ],
    containers: [{ name: "web" }],
  });
  await world.sync(pod);
  await world.sync(pod);
  await world.sync(pod);
  world.runtime.findContainer("proxy")?.end(1);
  world.runtime.findContainer("other")?.end(1);
  failOnce(world, "CreateContainer", new RuntimeError("CreateContainer", "Unknown", "no space"));
  const reports = await world.sync(pod);
  expect(reports.map(({ target, failure }) => [target, failure?.code])).toEqual([
    ["proxy", "CreateContainerError"],
    ["other", undefined],
  ]);
});

test("a failed postStart hook kills the container and says what failed, but not in the event", async () => {
  const world = new ExecutorWorld();
  const command = ["print", "partly", "secret", "3"];
  const pod = testPod({
    containers: [{ name: "web", lifecycle: { postStart: { exec: { command } } } }],
  });
  const reports = await world.clock.run(world.sync(pod));
  expect(reports.at(-1)?.failure).toEqual({
    code: "PostStartHookError",
    message:
      'Exec lifecycle hook ([print partly secret 3]) for Container "web" in Pod "web_default(uid-1)" failed - error: ' +
      "command 'print partly secret 3' exited with 3: secret, message: \"partlysecret\"",
  });
  expect(reports.at(-1)?.spans).toMatchObject([
    { what: "image" },
    { what: "postStart hook", failed: true },
  ]);
  expect(world.runtime.findContainer("web")?.state).toBe(ContainerState.CONTAINER_EXITED);
  expect(eventsOf(world).slice(-4)).toEqual([
    "Created: Container created",
    "Started: Container started",
    "FailedPostStartHook: PostStartHook failed",
    "Killing: FailedPostStartHook",
  ]);
});

test("a sync that is cancelled while the image is pulled creates nothing", async () => {
  const world = new ExecutorWorld();
  const cancel = new AbortController();
  world.runtime.intercept = async (method, phase, signal) => {
    if (method === "PullImage" && phase === "before") await world.clock.sleep(60_000, signal);
  };
  const sync = world.sync(testPod({ containers: [{ name: "web" }] }), { signal: cancel.signal });
  const outcome = sync.catch((error: unknown) => error);
  await settle();
  cancel.abort(new Error("the pod is ending"));
  expect(await outcome).toEqual(new Error("the pod is ending"));
  expect(callsOf(world)).toEqual(["RunPodSandbox 0"]);
});

test("a call in flight is waited for when the sync is cancelled, and nothing follows it", async () => {
  const world = new ExecutorWorld();
  const cancel = new AbortController();
  world.runtime.intercept = async (method, phase, signal) => {
    if (method === "CreateContainer" && phase === "before") await world.clock.sleep(5000, signal);
  };
  const sync = world.sync(testPod({ containers: [{ name: "web" }] }), { signal: cancel.signal });
  const outcome = sync.catch((error: unknown) => error);
  await settle();
  cancel.abort(new Error("the pod is ending"));
  await world.clock.advance(5000);
  expect(await outcome).toEqual(new Error("the pod is ending"));
  expect(callsOf(world)).toEqual(["RunPodSandbox 0", "CreateContainer web 0"]);
});

test("a sandbox whose answer was lost is taken over", async () => {
  const world = new ExecutorWorld();
  const late = new RuntimeError("RunPodSandbox", "DeadlineExceeded", "context deadline exceeded");
  failOnce(world, "RunPodSandbox", late, true);
  const reports = await world.sync(testPod({ containers: [{ name: "web" }] }));
  expect(callsOf(world)).toEqual([
    "RunPodSandbox 0",
    "CreateContainer web 0",
    "StartContainer web 0",
  ]);
  expect(reports.find(({ kind }) => kind === "create-sandbox")?.note).toBe(
    "took over what an earlier call made whose answer had been lost",
  );
});

test("a sandbox name that the runtime still holds is stepped past", async () => {
  const world = new ExecutorWorld();
  const held = 'failed to reserve sandbox name "a": name "a" is reserved for "b"';
  failOnce(world, "RunPodSandbox", new RuntimeError("RunPodSandbox", "Unknown", held));
  const reports = await world.sync(testPod({ containers: [{ name: "web" }] }));
  expect(callsOf(world)[0]).toBe("RunPodSandbox 1");
  expect(reports.find(({ kind }) => kind === "create-sandbox")?.note).toBe(
    "earlier calls still hold the names of 1 attempt(s) before this one",
  );
  expect(reports.every(({ failure }) => failure === undefined)).toBe(true);
});

test("a container whose answer was lost is taken over, one whose name is held is stepped past", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({ containers: [{ name: "web" }, { name: "log" }] });
  const late = new RuntimeError("CreateContainer", "DeadlineExceeded", "context deadline exceeded");
  failOnce(world, "CreateContainer", late, true);
  await world.sync(pod);
  const held = 'failed to reserve container name "a": name "a" is reserved for "b"';
  failOnce(world, "CreateContainer", new RuntimeError("CreateContainer", "Unknown", held));
  world.runtime.findContainer("log")?.end(1);
  await world.sync(pod);
  expect(callsOf(world)).toEqual([
    "RunPodSandbox 0",
    "CreateContainer web 0",
    "StartContainer web 0",
    "CreateContainer log 0",
    "StartContainer log 0",
    "CreateContainer log 2",
    "StartContainer log 2",
  ]);
});

test("a sandbox that cannot be made ends the sync, in upstream's words", async () => {
  const world = new ExecutorWorld();
  const error = new RuntimeError("RunPodSandbox", "Unknown", 'plugin type="loopback" failed');
  failOnce(world, "RunPodSandbox", error);
  const reports = await world.sync(testPod({ containers: [{ name: "web" }] }));
  expect(failuresText(reports)).toBe(
    'failed to "CreatePodSandbox" for "web_default(uid-1)" with CreatePodSandboxError: "Failed to create sandbox ' +
      'for pod \\"web_default(uid-1)\\": rpc error: code = Unknown desc = plugin type=\\"loopback\\" failed"',
  );
  expect(eventsOf(world)).toEqual([
    "FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = " +
      'plugin type="loopback" failed',
  ]);
});

test("a new sandbox without a status ends the sync", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({ containers: [{ name: "web" }] });
  failOnce(world, "PodSandboxStatus", new RuntimeError("PodSandboxStatus", "Unavailable", "gone"));
  const reports = await world.sync(pod);
  expect(failuresText(reports)).toBe(
    "failed to SyncPod: rpc error: code = Unavailable desc = gone",
  );
  expect(callsOf(world)).toEqual(["RunPodSandbox 0"]);
});

test("a container that the runtime cannot start is reported by name, not by id", async () => {
  const world = new ExecutorWorld();
  world.runtime.intercept = (method, phase) => {
    if (method !== "StartContainer" || phase !== "before") return;
    const id = world.runtime.findContainer("web")?.place.id;
    throw new RuntimeError(method, "Unknown", `container ${id}: no such file`);
  };
  const reports = await world.sync(testPod({ containers: [{ name: "web" }] }));
  expect(reports.at(-1)?.failure?.code).toBe("RunContainerError");
  expect(eventsOf(world).at(-1)).toBe("Failed: Error: container web: no such file");
});

test("after a reboot that lost the runtime's records, runs are counted on from their logs", async () => {
  const world = new ExecutorWorld();
  await world.files.writeFile("/var/log/pods/default_web_uid-1/web/4.log", "");
  await world.sync(testPod({ containers: [{ name: "web" }] }));
  expect(callsOf(world)).toContain("CreateContainer web 5");
});

test("logs that are there are linked, and the link goes with the container", async () => {
  const world = new ExecutorWorld({ writesLogs: true });
  const pod = testPod({
    initContainers: [{ name: "migrate", command: ["exit", "1"] }],
    containers: [{ name: "web" }],
  });
  for (let round = 0; round < 3; round++) {
    await world.sync(pod);
    await world.clock.advance(30_000);
  }
  const logs = [...world.files.links.values()];
  expect(logs).toEqual([1, 2].map((run) => `/var/log/pods/default_web_uid-1/migrate/${run}.log`));
  expect([...world.files.links.keys()][0]).toMatch(
    /^\/var\/log\/containers\/web_default_migrate-[0-9a-f]{64}\.log$/,
  );
});

test("without links nothing is written where a kubelet's logs are", async () => {
  const world = new ExecutorWorld({ writesLogs: true });
  const pod = testPod({ containers: [{ name: "web" }] });
  const observed = await world.read(pod);
  const { start } = world.deps;
  const deps = { ...world.deps, start: { ...start, logs: { ...start.logs, areLinked: false } } };
  await executePlan(
    deps,
    {
      pod,
      observed,
      plan: {
        steps: [
          { kind: "create-sandbox", attempt: 0, because: "test" },
          { kind: "start-container", index: 0, name: "web", because: "test" },
        ],
        sandboxAttempt: 0,
      },
      starting: { deps, pullCredentials: anonymous, onSandboxReady: () => undefined },
    },
    new AbortController().signal,
  );
  expect(world.files.links.size).toBe(0);
});

test("a resize of a pod without a cgroup fails loudly and keeps nothing else from happening", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({ containers: [{ name: "web" }] });
  const observed = await world.read(pod);
  const resize = {
    kind: "resize",
    updates: { cpu: [], memory: [] },
    updatePodResources: true,
    updatePodLevelResources: false,
    because: "test",
  } as const;
  const plan = { steps: [resize], sandboxAttempt: 0 };
  const { deps } = world;
  const starting = { deps, pullCredentials: anonymous, onSandboxReady: () => undefined };
  const request = { pod, observed, plan, starting };
  const { reports } = await executePlan(deps, request, new AbortController().signal);
  expect(failuresText(reports)).toBe(
    'failed to "ResizePodInPlace" for "web_default(uid-1)" with ResizePodInPlaceError: ' +
      '"unable to get pod cgroup memory config for pod \\"web_default(uid-1)\\""',
  );
});

test("a sandbox that cannot be stopped is not removed, and the others are", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({ containers: [{ name: "web" }] });
  await world.sync(pod);
  world.runtime.crashSandbox();
  await world.sync(pod);
  const observed = await world.read(pod);
  const [stuck] = observed.sandboxes;
  const stop = world.runtime.stopPodSandbox.bind(world.runtime);
  world.runtime.stopPodSandbox = (id, signal) =>
    id === stuck?.id
      ? Promise.reject(new RuntimeError("StopPodSandbox", "Unknown", "the network plugin hangs"))
      : stop(id, signal);
  const plan = planRemoval({ observed });
  const { signal } = new AbortController();
  const { reports } = await executePlan(world.deps, { pod, observed, plan }, signal);
  expect(failuresText(reports)).toContain("the network plugin hangs");
  expect(world.runtime.sandboxes.map(({ id }) => id)).toEqual([stuck?.id]);
});

test("after a step that others stand on has failed, only leftovers are still ended", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({ containers: [{ name: "web" }] });
  await world.sync(pod);
  const observed = await world.read(pod);
  const [leftover] = observed.sandboxes;
  world.runtime.calls.length = 0;
  failOnce(world, "RunPodSandbox", new RuntimeError("RunPodSandbox", "Unknown", "no network"));
  const because = "for the test";
  const plan = {
    steps: [
      { kind: "create-sandbox", attempt: 1, because },
      { kind: "start-container", index: 0, name: "web", because },
      { kind: "stop-sandbox", sandboxId: leftover?.id ?? "", because },
    ],
  } as const;
  const { signal } = new AbortController();
  const { deps } = world;
  const starting = { deps, pullCredentials: anonymous, onSandboxReady: () => undefined };
  const { reports } = await executePlan(deps, { pod, observed, plan, starting }, signal);
  expect(reports.map(({ kind, failure }) => `${kind} ${failure?.code ?? "done"}`)).toEqual([
    "create-sandbox CreatePodSandboxError",
    "stop-sandbox done",
  ]);
});

test.each([
  { hostNetwork: true, hasNodeAddress: true },
  { hostNetwork: false, hasNodeAddress: false },
])(
  "a container of a new sandbox gets the addresses of the node: $hasNodeAddress, hostNetwork: $hostNetwork",
  async ({ hostNetwork, hasNodeAddress }) => {
    const world = new ExecutorWorld();
    const pod = testPod({ hostNetwork, containers: [{ name: "web" }] });
    const { configs } = world.deps.start;
    const make = configs.containerConfig.bind(configs);
    const given: (readonly string[])[] = [];
    configs.containerConfig = (request, signal) => {
      given.push(request.podIps);
      return make(request, signal);
    };
    const observed = { ...(await world.read(pod)), ips: ["192.0.2.1"] };
    const because = "for the test";
    const plan = {
      steps: [
        { kind: "create-sandbox", attempt: 0, because },
        { kind: "start-container", index: 0, name: "web", because },
      ],
    } as const;
    const { deps } = world;
    const starting = { deps, pullCredentials: anonymous, onSandboxReady: () => undefined };
    const { signal } = new AbortController();
    await executePlan(deps, { pod, observed, plan, starting }, signal);
    expect(given).toHaveLength(1);
    expect(given[0]?.includes("192.0.2.1")).toBe(hasNodeAddress);
  },
);

test("a start that is under way is not cut short when the sync is cancelled", async () => {
  const world = new ExecutorWorld();
  const pod = testPod({ containers: [{ name: "web" }, { name: "log" }] });
  const cancel = new AbortController();
  const { runtime } = world;
  const start = runtime.startContainer.bind(runtime);
  const isCut: boolean[] = [];
  runtime.startContainer = async (id, signal) => {
    cancel.abort(new Error("the pod is to end"));
    isCut.push(signal.aborted);
    return start(id, signal);
  };
  await expect(world.sync(pod, { signal: cancel.signal })).rejects.toThrow("the pod is to end");
  expect(isCut).toEqual([false]);
  expect(runtime.findContainer("web")?.state).toBe(ContainerState.CONTAINER_RUNNING);
});
