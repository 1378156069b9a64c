import { describe, expect, test } from "vitest";
import {
  ContainerState,
  type ContainerStatus,
  PodSandboxState,
  Signal,
} from "../../model/generated/cri.ts";
import { podUid } from "../../model/ids.ts";
import { containerNameLabel, containerRestartCountAnnotation } from "../../model/labels.ts";
import { observePod, type PodAnswers } from "./observe-pod.ts";

const nanosecondsPerMs = 1_000_000n;

function sandbox(
  id: string,
  attempt: number,
  state: PodSandboxState = PodSandboxState.SANDBOX_READY,
) {
  const network = { ip: `10.0.0.${attempt + 1}`, additionalIps: [{ ip: `fd00::${attempt + 1}` }] };
  return { id, state, metadata: { attempt }, createdAt: 5n * nanosecondsPerMs, network };
}

function container(id: string, createdAtMs: number): ContainerStatus {
  return {
    id,
    state: ContainerState.CONTAINER_RUNNING,
    createdAt: BigInt(createdAtMs) * nanosecondsPerMs,
    labels: { [containerNameLabel]: "web" },
  };
}

function observe(reading: Partial<PodAnswers>) {
  return observePod({
    uid: podUid("uid-1"),
    name: "shop",
    namespace: "default",
    runtimeName: "containerd",
    sandboxes: [],
    containers: [],
    observedAtMs: 42,
    ...reading,
  });
}

test("a container that was created late comes after its successor", () => {
  const late = { ...container("late", 9), state: ContainerState.CONTAINER_CREATED };
  const annotations = { [containerRestartCountAnnotation]: "1" };
  const { containers } = observe({
    containers: [late, { ...container("old", 1) }, { ...container("new", 2), annotations }].map(
      (status) => ({ status, sandboxId: "a" }),
    ),
  });
  expect(containers.map(({ id }) => id)).toEqual([
    "containerd://new",
    "containerd://old",
    "containerd://late",
  ]);
});

describe("sandboxes", () => {
  test("the newest attempt comes first and gives the pod its addresses", () => {
    const { sandboxes, ips } = observe({ sandboxes: [sandbox("old", 0), sandbox("new", 1)] });
    expect(sandboxes.map(({ id }) => id)).toEqual(["new", "old"]);
    expect(ips).toEqual(["10.0.0.2", "fd00::2"]);
  });

  test("a pod whose newest sandbox is not ready has no addresses and no active containers", () => {
    const observed = observe({
      sandboxes: [sandbox("old", 0), sandbox("new", 1, PodSandboxState.SANDBOX_NOTREADY)],
      containers: [{ status: container("a", 1), sandboxId: "new" }],
    });
    expect(observed.ips).toEqual([]);
    expect(observed.activeContainerIds).toEqual([]);
  });

  test("an address that is none makes the pod have none", () => {
    const broken = {
      ...sandbox("a", 0),
      network: { ip: "10.0.0.1", additionalIps: [{ ip: "?" }] },
    };
    expect(observe({ sandboxes: [broken] }).ips).toEqual([]);
  });

  test("no network status is not the same as a network without an address", () => {
    const { network: _, ...unknown } = sandbox("a", 1);
    const { sandboxes } = observe({ sandboxes: [unknown, { ...unknown, id: "b", network: {} }] });
    expect(sandboxes.map(({ ips }) => ips)).toEqual([undefined, []]);
  });
});

describe("containers", () => {
  test("come newest first; those of the newest sandbox are active", () => {
    const { containers, activeContainerIds } = observe({
      sandboxes: [sandbox("new", 1)],
      containers: [
        { status: container("a", 1), sandboxId: "old" },
        { status: container("c", 3), sandboxId: "new" },
        { status: container("b", 2), sandboxId: "new" },
      ],
    });
    expect(containers.map(({ id }) => id)).toEqual([
      "containerd://c",
      "containerd://b",
      "containerd://a",
    ]);
    expect(activeContainerIds).toEqual(["containerd://c", "containerd://b"]);
  });

  test("an exited container's last words follow the runtime's message", () => {
    const status = {
      ...container("a", 1),
      state: ContainerState.CONTAINER_EXITED,
      message: "OOM",
      exitCode: 137,
    };
    const { containers } = observe({
      containers: [{ status, sandboxId: "a", terminationMessage: "bye" }],
    });
    expect(containers[0]).toMatchObject({ state: "exited", exitCode: 137, message: "OOM: bye" });
  });

  test("the signal that stops a container is observed by name, where the feature is on and the runtime reports it", () => {
    const status = { ...container("a", 2), stopSignal: Signal.SIGRTMINPLUS3 };
    const containers = [status, container("b", 1)].map((each) => ({
      status: each,
      sandboxId: "s",
    }));
    const signals = (hasStopSignals: boolean) =>
      observe({ containers, hasStopSignals }).containers.map(({ stopSignal }) => stopSignal);
    expect(signals(true)).toEqual(["SIGRTMIN+3", undefined]);
    expect(signals(false)).toEqual([undefined, undefined]);
  });

  test("what the runtime does not report of resources is what was last given", () => {
    const actuated = { requests: { cpu: "1", memory: "64Mi" }, limits: { memory: "1Gi" } };
    const reported = { ...container("b", 1), resources: { linux: { cpuShares: 512n } } };
    const { containers } = observe({
      containers: [
        { status: container("a", 2), sandboxId: "s", actuated },
        { status: reported, sandboxId: "s", actuated },
      ],
    });
    expect(containers.map(({ resources }) => resources)).toEqual([
      { cpuRequest: "1", cpuLimit: "0", memoryRequest: "64Mi", memoryLimit: "1Gi" },
      { cpuRequest: "500m", memoryRequest: "64Mi" },
    ]);
  });
});
