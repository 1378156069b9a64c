import { expect, test } from "vitest";
import { defaultFeatureGates, setFeatureGates } from "../feature-gates.ts";
import { parseCommandLine } from "../flags/command-line.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";
import { kubeletFlags } from "../generated/kubelet-flags.ts";
import { fileDefaultConfig, legacyDefaultConfig } from "../legacy-defaults.ts";
import { flagSupport } from "./flag-support.ts";
import { judgeConfig } from "./judge-config.ts";

function judge(change: Partial<KubeletConfiguration>): ReturnType<typeof judgeConfig> {
  return judgeConfig({ ...fileDefaultConfig(), ...change }, defaultFeatureGates, new Map());
}

test("every flag that sets no field has a treatment of its own, and no other flag has one", () => {
  const own = kubeletFlags.filter(({ field }) => field === undefined).map(({ name }) => name);
  expect(Object.keys(flagSupport).toSorted()).toEqual(own.toSorted());
});

test("defaults ask for nothing in vain", () => {
  expect(judge({})).toEqual({ warnings: [], refusals: [] });
  expect(judgeConfig(legacyDefaultConfig(), defaultFeatureGates, new Map())).toEqual({
    warnings: [],
    refusals: [],
  });
});

test("flags are judged by their final values", () => {
  const parsed = parseCommandLine(["--experimental-mounter-path=/m", "--boot-id-file=/b"]);
  expect(parsed.ok).toBe(true);
  if (!parsed.ok) return;
  const { warnings, refusals } = judgeConfig(
    parsed.value.config,
    parsed.value.gates,
    parsed.value.settings,
  );
  expect(refusals).toEqual([expect.stringMatching(/^--experimental-mounter-path: /)]);
  expect(warnings).toEqual([]);
});

test("a gate that Berth only has one way is refused the other way, by name, also when a group switches it", () => {
  for (const gates of [{ PodsAPI: true }, { AllAlpha: true }]) {
    const state = setFeatureGates(defaultFeatureGates, gates);
    if (!state.ok) continue;
    const { refusals } = judgeConfig(fileDefaultConfig(), state.value, new Map());
    expect(refusals).toContainEqual(expect.stringMatching(/^featureGates PodsAPI=true: /));
  }
  const usual = setFeatureGates(defaultFeatureGates, { PodsAPI: false, EventedPLEG: true });
  expect(usual.ok && judgeConfig(fileDefaultConfig(), usual.value, new Map()).refusals).toEqual([]);
});
