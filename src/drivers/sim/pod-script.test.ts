import { describe, expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../../model/pod.ts";
import { attemptOf, parsePodScript } from "./pod-script.ts";

const http = { httpGet: { port: 80 } };

function podWith(annotations: Readonly<Record<string, string>>): Pod {
  return testPod(
    {
      initContainers: [{ name: "init" }],
      containers: [
        {
          name: "main",
          livenessProbe: http,
          lifecycle: { postStart: http, preStop: { sleep: { seconds: 1 } } },
        },
      ],
    },
    { annotations },
  );
}

function scriptOf(annotations: Readonly<Record<string, string>>) {
  const parsed = parsePodScript(podWith(annotations));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

describe("a script", () => {
  test("says how each run of a container goes; the last one holds for all that follow", () => {
    const { runs = [] } =
      scriptOf({
        "sim.berth.dev/main": "run 5s, exit 1; exit 3; run 1m, oom;  run,  on  TERM ignore ",
      }).get("main") ?? {};
    const dies = { afterMs: 0, exitCode: 143 };
    expect(runs).toEqual([
      {
        text: "run 5s, exit 1",
        endsAfterMs: 5000,
        exitCode: 1,
        isOutOfMemory: false,
        onStop: dies,
      },
      { text: "exit 3", endsAfterMs: 0, exitCode: 3, isOutOfMemory: false, onStop: dies },
      {
        text: "run 1m, oom",
        endsAfterMs: 60_000,
        exitCode: 137,
        isOutOfMemory: true,
        onStop: dies,
      },
      {
        text: "run, on TERM ignore",
        endsAfterMs: undefined,
        exitCode: 0,
        isOutOfMemory: false,
        onStop: "ignore",
      },
    ]);
    expect(attemptOf(runs, 1)).toBe(runs[1]);
    expect(attemptOf(runs, 9)).toBe(runs[3]);
  });

  test("says how a container takes the stop signal", () => {
    const { runs } =
      scriptOf({ "sim.berth.dev/main": "run 9s, on TERM exit 7 in 500ms" }).get("main") ?? {};
    expect(runs).toMatchObject([
      { endsAfterMs: 9000, exitCode: 0, onStop: { afterMs: 500, exitCode: 7 } },
    ]);
  });

  test("says what probes find, how hooks go and how images are pulled", () => {
    const script = scriptOf({
      "sim.berth.dev/main.liveness": "ok 10s, hang 5s, fail; ok",
      "sim.berth.dev/main.postStart": "take 2s, fail; ok",
      "sim.berth.dev/init.pull": "fail; take 1s",
      "example.com/other": "is not for Berth",
    });
    expect(script.get("main")).toEqual({
      probes: {
        liveness: [
          [
            { finds: "ok", lastsMs: 10_000 },
            { finds: "hang", lastsMs: 5000 },
            { finds: "fail", lastsMs: Number.POSITIVE_INFINITY },
          ],
          [{ finds: "ok", lastsMs: Number.POSITIVE_INFINITY }],
        ],
      },
      hooks: {
        postStart: [
          { takesMs: 2000, fails: true },
          { takesMs: 0, fails: false },
        ],
      },
    });
    expect(script.get("init")?.pulls).toEqual([
      { takesMs: 0, fails: true },
      { takesMs: 1000, fails: false },
    ]);
  });
});

describe("a script that means nothing is refused with what is allowed", () => {
  test.each([
    ["main", "runn 5s", '"runn 5s" is not understood; allowed is run [DURATION], exit CODE, oom'],
    ["main", "", '"" is not understood; allowed is run'],
    ["main", "run 5s,", '"" is not understood; allowed is run'],
    ["main", "run soon", '"soon" is not a duration such as 500ms, 5s or 2m'],
    ["main", "run 5s, exit 256", '"256" is not an exit code from 0 to 255'],
    ["main", "run, on TERM exit 999", '"999" is not an exit code'],
    ["main", "run, on TERM exit 0 in a while", "is not understood"],
    ["main", "run, exit 1", '"run" without a duration never ends by itself'],
    ["main.liveness", "ok, fail", '"ok" needs a duration: another one follows'],
    ["main.liveness", "ok 5s, fail 5s", '"fail 5s" comes last and lasts'],
    ["main.liveness", "up", '"up" is not understood; allowed is ok [DURATION], fail'],
    ["main.readiness", "ok", "container main has no readinessProbe"],
    ["main.postStart", "take long", '"long" is not a duration'],
    ["main.preStop", "ok", "the preStop hook of container main sleeps"],
    ["init.postStart", "ok", "container init has no postStart hook"],
    ["main.pull", "never", '"never" is not understood; allowed is take DURATION, fail, ok'],
    ["other", "run", 'the pod has no container "other", only init, main; expected sim.berth.dev/'],
    ["main.stop", "run", 'there is no part "stop"; expected sim.berth.dev/CONTAINER'],
    ["main.pull.twice", "ok", "expected sim.berth.dev/CONTAINER or"],
  ])("%s: %s", (key, text, message) => {
    const annotation = `sim.berth.dev/${key}`;
    const parsed = parsePodScript(podWith({ [annotation]: text }));
    expect(parsed).toMatchObject({ ok: false, error: [{ annotation }] });
    expect(!parsed.ok && parsed.error[0]?.message).toContain(message);
  });
});
