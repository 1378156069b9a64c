import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyPlanInput } from "../../../test/kit/any-plan-input.ts";
import { exitedContainer } from "../../../test/kit/carry-out.ts";
import { plainPlanFacts } from "../../../test/kit/plan-facts.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { PlanPodInput } from "../pod/plan-input.ts";
import { planPod } from "../pod/plan-pod.ts";
import { countRestart, crashLoopLimits } from "../restart/crash-loop-backoff.ts";
import { computePodStatus, type PodStatusInput } from "../status/pod-status.ts";
import type { Decision } from "./decision.ts";
import { parseRecording, recordingLines } from "./recording.ts";
import { findDifference } from "./replay.ts";

const origin = { berthVersion: "0.1.0", nodeName: "node-1" };
const secret = "swordfish";

/** Has a secret wherever a pod and what is seen of it may hold one. */
const pod: Pod = buildPod({
  metadata: {
    name: "shop",
    namespace: "default",
    uid: "uid-1",
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": `{"env":"${secret}"}` },
  },
  spec: {
    containers: [
      {
        name: "web",
        image: "web:1",
        command: ["serve", `--password=${secret}`],
        args: [secret],
        env: [{ name: "PASSWORD", value: secret }, { name: "EMPTY" }],
        livenessProbe: {
          httpGet: {
            port: 80,
            path: `/healthy?token=${secret}\n${secret}`,
            httpHeaders: [{ name: "Authorization", value: secret }],
          },
        },
        lifecycle: { preStop: { exec: { command: ["leave", secret] } } },
      },
    ],
  },
});
const ended = { ...exitedContainer({ name: "web", image: "web:1" }, 1), message: secret };
const observed = {
  ...emptyObservedPod(podUid("uid-1"), "shop", "default"),
  containers: [ended],
  sandboxes: [
    { id: "sb1", state: "ready", attempt: 0, createdAtMs: 0, network: "pod", ips: ["10.0.0.7"] },
  ],
} as const;

const planInput: PlanPodInput = {
  pod,
  observed,
  livenessResults: new Map([[ended.id, "Failure"]]),
  startupResults: new Map(),
  restartAllContainers: false,
  actuatedResources: { containers: new Map([["web", {}]]) },
  ...plainPlanFacts,
};

const statusInput: PodStatusInput = {
  pod,
  observed,
  isTerminal: false,
  startFailures: new Map([["web", { reason: "CrashLoopBackOff", message: "back-off 10s" }]]),
  probes: {
    agentStartedAtMs: 0,
    readinessProbed: new Set(["web"]),
    startupProbed: new Set(),
    readinessResults: new Map(),
    startupResults: new Map(),
  },
  resizeConditions: [],
  hostIps: ["10.0.0.1"],
  primaryIpFamily: 4,
  supportsRecursiveReadOnly: false,
};

function planned(input: PlanPodInput): Decision {
  return { kind: "plan", atMs: 1_767_225_600_000, input, outcome: planPod(input) };
}

const crashed = { ...observed, containers: [{ ...ended, finishedAtMs: 50_000 }] };
const web = pod.spec.containers[0] ?? { name: "" };
const waitInput: PlanPodInput = {
  ...planInput,
  observed: crashed,
  nowMs: 55_000,
  restarts: {
    history: countRestart(new Map(), { pod, container: web, nowMs: 40_000 }, 10_000),
    limits: crashLoopLimits,
  },
};

const decisions: readonly Decision[] = [
  planned(planInput),
  planned(waitInput),
  { kind: "status", atMs: 1, input: statusInput, outcome: computePodStatus(statusInput) },
];

function textOf(recorded: readonly Decision[]): string {
  return [...recordingLines(origin, recorded), ""].join("\n");
}

function replayed(text: string): ReturnType<typeof findDifference> {
  const recording = parseRecording(text);
  if (!recording.ok) throw new Error(`${recording.error.line}: ${recording.error.message}`);
  return findDifference(recording.value.decisions);
}

describe("a recording", () => {
  test("decides the same again, without any secret in it", () => {
    const text = textOf(decisions);
    expect(text).not.toContain(secret);
    expect(text).toContain("PASSWORD");
    expect(text).toContain('"path":"/healthy?<redacted>"');
    expect(text).toContain("back-off 10s restarting failed container=web");
    expect(parseRecording(text)).toMatchObject({ ok: true, value: { origin } });
    expect(replayed(text)).toBeUndefined();
  });

  test("of any plan decides the same again", () => {
    fc.assert(
      fc.property(anyPlanInput, (input) => {
        expect(replayed(textOf([planned(input)]))).toBeUndefined();
      }),
    );
  });

  test("shows the first decision that is another one, and where", () => {
    const text = textOf([...decisions, planned(planInput)]);
    const changed = text.replace('"name":"web","because":', '"name":"db","because":');
    expect(changed).not.toBe(text);
    expect(replayed(changed)).toMatchObject({
      position: 1,
      recorded: { line: 2 },
      changes: [{ path: "steps[0].name", before: "db", now: "web" }],
    });
  });

  test("shows steps that were not recorded, and those that are not decided any more", () => {
    const [line = ""] = [...recordingLines(origin, decisions)].slice(1);
    const decision: unknown = JSON.parse(line);
    const header = JSON.stringify({ berthRecording: 2, ...origin });
    const withSteps = (steps: readonly unknown[]): string =>
      `${header}\n${JSON.stringify(Object.assign({}, decision, { outcome: { steps, sandboxId: "sb1", sandboxAttempt: 0 } }))}\n`;
    expect(replayed(withSteps([]))?.changes).toMatchObject([{ path: "steps[0]", now: {} }]);
    const { steps } = planPod(planInput);
    expect(replayed(withSteps([...steps, "more"]))?.changes).toEqual([
      { path: "steps[1]", before: "more", now: undefined },
    ]);
  });

  test("shows a decision that cannot be made any more", () => {
    const text = textOf(decisions).replace('"sandboxes":[', '"sandboxes":[null,');
    expect(replayed(text)?.changes[0]?.now).toMatch(/^fails: /);
  });
});

test("a recording whose header lacks the number of decisions is still read", () => {
  const text = textOf(decisions).replace(`,"decisions":${decisions.length}`, "");
  expect(text).not.toContain('"decisions"');
  expect(replayed(text)).toBeUndefined();
});

describe("a file that is not a recording", () => {
  const header = JSON.stringify({ berthRecording: 2, ...origin });
  const line = textOf(decisions).split("\n")[1] ?? "";

  test.each([
    ["", 1, "this is not a recording"],
    ["apiVersion: v1\n", 1, "this is not a recording"],
    ["{}\n", 1, "this is not a recording"],
    [`{"berthRecording":1}\n${line}`, 1, "version 1, this Berth reads version 2"],
    ['{"berthRecording":2,"berthVersion":"0.1.0"}\n', 1, "on which node"],
    [textOf(decisions).split("\n").slice(0, 3).join("\n"), 4, "not whole: 2 of 3 decisions"],
    [`${header}\n${line}\n${line.slice(0, 100)}`, 3, "not a JSON object"],
    [`${header}\n\n{"kind":"guess"}`, 3, 'unknown kind "guess"'],
    [`${header}\n{"kind":"plan","atMs":1,"outcome":{},"input":{"pod":{}}}`, 2, "no input.pod"],
    [`${header}\n{"kind":"plan","atMs":1,"input":{}}`, 2, "no outcome"],
    [`${header}\n{"kind":"plan"}`, 2, "no atMs"],
  ])("is refused with its line: %j", (text, at, message) => {
    const parsed = parseRecording(text);
    expect(parsed).toMatchObject({ ok: false, error: { line: at } });
    expect(!parsed.ok && parsed.error.message).toContain(message);
  });
});
