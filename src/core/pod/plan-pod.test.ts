import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyPlanInput } from "../../../test/kit/any-plan-input.ts";
import { carryOut, exitedContainer, runningContainer } from "../../../test/kit/carry-out.ts";
import { plainPlanFacts } from "../../../test/kit/plan-facts.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { containerId, podUid } from "../../model/ids.ts";
import { emptyObservedPod, findObserved, type ObservedContainer } from "../../model/observed.ts";
import { isSidecar, type Pod } from "../../model/pod.ts";
import { containerHash } from "../container/container-hash.ts";
import { countRestart } from "../restart/crash-loop-backoff.ts";
import type { PlanPodInput } from "./plan-input.ts";
import { planPod } from "./plan-pod.ts";
import type { Step } from "./step.ts";

const web = { name: "web", image: "web:1" };

function podOf(spec: Partial<Pod["spec"]>): Pod {
  return buildPod({
    metadata: { name: "shop", namespace: "default", uid: "uid-1" },
    spec: { containers: [web], ...spec },
  });
}

function inputOf(pod: Pod, containers: readonly ObservedContainer[]): PlanPodInput {
  const ready = { id: "sb1", state: "ready", attempt: 0, createdAtMs: 0, network: "pod" } as const;
  return {
    pod,
    observed: {
      ...emptyObservedPod(pod.metadata.uid, pod.metadata.name, pod.metadata.namespace),
      containers,
      sandboxes: [{ ...ready, ips: ["10.0.0.7"] }],
    },
    livenessResults: new Map(),
    startupResults: new Map(),
    restartAllContainers: false,
    actuatedResources: { containers: new Map() },
    ...plainPlanFacts,
  };
}

function becauseOf(input: PlanPodInput): string[] {
  return planPod(input).steps.map(({ kind, because }) => `${kind}: ${because}`);
}

describe("a plan says why", () => {
  test("a container that exited starts again by its policy", () => {
    expect(becauseOf(inputOf(podOf({}), [exitedContainer(web, 1)]))).toEqual([
      "start-container: container web exited with code 1 and restartPolicy is Always",
    ]);
  });

  test("a changed image replaces the container", () => {
    const seen = { ...runningContainer(web), hash: "a1b2" };
    const because = `the spec hash of container web changed from a1b2 to ${containerHash(web)}`;
    expect(becauseOf(inputOf(podOf({}), [seen]))).toEqual([
      `kill-container: ${because}`,
      `start-container: ${because}`,
    ]);
  });

  test("a container that was created in an earlier sandbox does not stand for initialization", () => {
    const init = { name: "init", image: "init:1" };
    const pod = podOf({ initContainers: [init] });
    const seen: ObservedContainer = { ...runningContainer(web), state: "created" };
    const old = inputOf(pod, [{ ...seen, sandboxId: "sb0" }]);
    expect(becauseOf(old)).toEqual([
      "start-init: no init container has run yet, and init is the first",
    ]);
    const current = inputOf(pod, [{ ...seen, sandboxId: "sb1" }]);
    expect(becauseOf(current)).toEqual([
      "remove-container: another instance of container web is about to be created, and this one may still start",
      "start-container: container web was created but never started",
    ]);
  });

  test("init containers that are left from an earlier sandbox run again", () => {
    const [one, two] = [
      { name: "one", image: "init:1" },
      { name: "two", image: "init:1" },
    ];
    const pod = podOf({ initContainers: [one, two] });
    const done = [one, two].map((init) => ({ ...exitedContainer(init, 0), sandboxId: "sb0" }));
    expect(becauseOf(inputOf(pod, done))).toEqual([
      "start-init: no init container has run yet, and one is the first",
    ]);
    const begun = inputOf(pod, [{ ...runningContainer(one), sandboxId: "sb1" }, ...done]);
    expect(becauseOf(begun)).toEqual([]);
  });

  test.each([
    { ran: "debug", steps: ["kill-pod", "create-sandbox", "start-container"] },
    { ran: "web", steps: ["kill-pod"] },
  ])("a pod that runs once and lost its sandbox after $ran: $steps", ({ ran, steps }) => {
    const ephemeralContainers = [{ name: "debug", image: "tools:1" }];
    const pod = podOf({ restartPolicy: "Never", ephemeralContainers });
    const input = inputOf(pod, [exitedContainer({ ...web, name: ran }, 0)]);
    const sandboxes = input.observed.sandboxes.map((each) => ({
      ...each,
      state: "notReady" as const,
    }));
    const plan = planPod({ ...input, observed: { ...input.observed, sandboxes } });
    expect(plan.steps.map(({ kind }) => kind)).toEqual(steps);
  });

  test("a debug container that was created and whose start was lost starts", () => {
    const debug = { name: "debug", image: "tools:1" };
    const pod = podOf({ ephemeralContainers: [debug] });
    const created: ObservedContainer = { ...runningContainer(debug), state: "created" };
    expect(becauseOf(inputOf(pod, [runningContainer(web), created]))).toEqual([
      "remove-container: another instance of container debug is about to be created, and this one may still start",
      "start-ephemeral: ephemeral container debug was created but never started",
    ]);
    expect(becauseOf(inputOf(pod, [runningContainer(web), exitedContainer(debug, 0)]))).toEqual([]);
  });

  test("a pod without a sandbox gets one", () => {
    const input = inputOf(podOf({}), []);
    expect(
      becauseOf({ ...input, observed: emptyObservedPod(podUid("uid-1"), "shop", "default") }),
    ).toEqual([
      "kill-pod: no sandbox exists",
      "create-sandbox: no sandbox exists",
      "start-container: container web has to run in the new sandbox",
    ]);
  });

  test("a failed liveness probe restarts the container", () => {
    const seen = runningContainer(web);
    const input = inputOf(podOf({}), [seen]);
    expect(becauseOf({ ...input, livenessResults: new Map([[seen.id, "Failure"]]) })).toEqual([
      "kill-container: the liveness probe of container web failed",
      "start-container: the liveness probe of container web failed",
    ]);
  });

  test("a resize names what changes", () => {
    const resized = { ...web, resources: { limits: { cpu: "2" } } };
    expect(becauseOf(inputOf(podOf({ containers: [resized] }), [runningContainer(web)]))).toEqual([
      "resize: container web asks for a cpu limit of 2000m instead of 0m",
    ]);
  });

  test("a failed init container ends a pod that is never restarted", () => {
    const setup = { name: "setup", image: "setup:1" };
    const pod = podOf({ initContainers: [setup], restartPolicy: "Never" });
    expect(becauseOf(inputOf(pod, [exitedContainer(setup, 3)]))).toEqual([
      "kill-pod: init container setup exited with code 3 and restartPolicy is Never",
    ]);
  });
});

describe("a plan is total", () => {
  const sandboxId = "sb1";

  test("a container in its back-off waits, and the plan says when to sync again", () => {
    const pod = podOf({});
    const crashed = { ...exitedContainer(web, 1), finishedAtMs: 50_000 };
    const { limits } = plainPlanFacts.restarts;
    const history = countRestart(new Map(), { pod, container: web, nowMs: 40_000 }, 10_000);
    const input = { ...inputOf(pod, [crashed]), nowMs: 55_000, restarts: { history, limits } };
    expect(planPod(input)).toMatchObject({
      steps: [{ kind: "wait", starts: "start-container", name: "web", untilMs: 60_000 }],
      recheckAtMs: 60_000,
    });
    expect(planPod({ ...input, nowMs: 60_000 })).toMatchObject({
      steps: [{ kind: "start-container", nextDelayMs: 20_000 }],
      recheckAtMs: undefined,
    });
  });

  test("leftovers are ended last and change nothing else of the plan", () => {
    const input = inputOf(podOf({}), [{ ...exitedContainer(web, 1), sandboxId }]);
    const [used] = input.observed.sandboxes;
    if (used === undefined) throw new Error("no sandbox");
    const sandboxes = [used, { ...used, id: "late" }];
    const { steps } = planPod({ ...input, observed: { ...input.observed, sandboxes } });
    expect(steps).toMatchObject([
      ...planPod(input).steps,
      { kind: "stop-sandbox", sandboxId: "late" },
    ]);
  });

  test("what runs outside the pod's cgroup is stopped, and nothing else happens", () => {
    const input = { ...inputOf(podOf({}), [runningContainer(web)]), runsOutsideCgroup: true };
    expect(becauseOf(input)).toEqual(["kill-pod: its containers run outside the pod's cgroup"]);
  });

  test("no other instance is created beside one that an earlier call started", () => {
    const ended = { ...exitedContainer(web, 1), id: containerId("runtime://2") };
    const { steps } = planPod(inputOf(podOf({}), [ended, runningContainer(web)]));
    expect(steps).toMatchObject([{ kind: "wait", name: "web" }]);
    expect(steps[0]).not.toHaveProperty("untilMs");
  });

  test("an init container that starts over is removed once", () => {
    const init = { name: "init", image: "init:1" };
    const created: ObservedContainer = { ...runningContainer(init), state: "created" };
    const input = inputOf(podOf({ initContainers: [init] }), [created]);
    const sandboxes = input.observed.sandboxes.map((one) => ({
      ...one,
      state: "notReady" as const,
    }));
    const { steps } = planPod({ ...input, observed: { ...input.observed, sandboxes } });
    expect(steps.map(({ kind }) => kind)).toEqual([
      "kill-pod",
      "remove-container",
      "create-sandbox",
      "start-init",
    ]);
  });
});

describe("any plan", () => {
  test("is empty for a pod that runs as asked", () => {
    expect(planPod(inputOf(podOf({}), [runningContainer(web)])).steps).toEqual([]);
  });

  test("gives every step a reason and keeps the order of execution", () => {
    const order: readonly Step["kind"][] = [
      "kill-pod",
      "kill-container",
      "reset-container",
      "remove-container",
      "create-sandbox",
      "resize",
      "start-ephemeral",
      "start-init",
      "start-container",
      "stop-sandbox",
    ];
    fc.assert(
      fc.property(anyPlanInput, (input) => {
        const { steps } = planPod(input);
        // What is in the way of a start goes right before it.
        const inOrder = steps.filter((step) => !("unlessStarted" in step && step.unlessStarted));
        const ranks = inOrder.map(({ kind }) => order.indexOf(kind));
        expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
        expect(steps.every(({ because }) => because.length > 0)).toBe(true);
      }),
    );
  });

  test("never starts a container that it leaves running", () => {
    fc.assert(
      fc.property(anyPlanInput, (input) => {
        const { steps } = planPod(input);
        const stopsPod = steps.some(({ kind }) => kind === "kill-pod");
        const killed = new Set(
          steps.flatMap((step) => ("containerId" in step ? step.containerId : [])),
        );
        for (const name of startedNames(steps)) {
          const seen = findObserved(input.observed, name);
          const mayRun = seen?.state === "running" || seen?.state === "unknown";
          expect(seen === undefined || !mayRun || stopsPod || killed.has(seen.id)).toBe(true);
        }
      }),
    );
  });

  test("starts no container twice", () => {
    fc.assert(
      fc.property(anyPlanInput, (input) => {
        const names = startedNames(planPod(input).steps);
        expect(names).toEqual([...new Set(names)]);
      }),
    );
  });

  test("starts no regular container before the init containers are done", () => {
    fc.assert(
      fc.property(anyPlanInput, (input) => {
        const { steps } = planPod(input);
        const startsRegular = steps.some(({ kind }) => kind === "start-container");
        fc.pre(startsRegular && input.pod.spec.initContainers !== undefined);
        expect(steps.some(({ kind }) => kind === "create-sandbox")).toBe(false);
        expect(isInitialized(input)).toBe(true);
        const plainInit = input.pod.spec.initContainers?.filter((one) => !isSidecar(one)) ?? [];
        const started = startedNames(steps);
        expect(plainInit.filter(({ name }) => started.includes(name))).toEqual([]);
      }),
    );
  });

  test("carried out again and again comes to rest or ends the pod", () => {
    fc.assert(
      fc.property(anyPlanInput, (first) => {
        let input = first;
        for (let round = 0; round < 12; round++) {
          const plan = planPod(input);
          input = { ...carryOut(input, plan), restartAllContainers: false };
          // A pod that has ended is terminal: it is never planned again.
          if (endsPod(plan.steps)) return;
        }
        expect(planPod(input).steps).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

function endsPod(steps: readonly Step[]): boolean {
  return steps.some((step) => step.kind === "kill-pod" && !step.startsOver);
}

function startedNames(steps: readonly Step[]): string[] {
  return steps.flatMap((step) => ("index" in step ? [step.name] : []));
}

function isInitialized({ pod, observed, startupResults }: PlanPodInput): boolean {
  const started = pod.spec.containers.some(({ name }) => {
    const state = findObserved(observed, name)?.state;
    return state === "created" || state === "running";
  });
  const last = pod.spec.initContainers?.at(-1);
  if (started || last === undefined) return true;
  const seen = findObserved(observed, last.name);
  if (!isSidecar(last)) {
    return seen?.state === "exited" && seen.exitCode === 0 && seen.reason !== "OOMKilled";
  }
  const probed =
    last.startupProbe === undefined || startupResults.get(seen?.id ?? "") === "Success";
  return seen?.state === "running" && probed;
}
