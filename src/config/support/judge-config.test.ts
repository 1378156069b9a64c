import { expect, test } from "vitest";
import { parseCommandLine } from "../flags/command-line.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";
import { kubeletFlags } from "../generated/kubelet-flags.ts";
import { fileDefaultConfig, legacyDefaultConfig } from "../legacy-defaults.ts";
import { flagSupport } from "./flag-support.ts";
import { judgeConfig } from "./judge-config.ts";

function judge(change: Partial<KubeletConfiguration>): ReturnType<typeof judgeConfig> {
  return judgeConfig({ ...fileDefaultConfig(), ...change }, new Map());
}

test("every flag that sets no field has a treatment of its own, and no other flag has one", () => {
  const own = kubeletFlags.filter(({ field }) => field === undefined).map(({ name }) => name);
  expect(Object.keys(flagSupport).toSorted()).toEqual(own.toSorted());
});

test("defaults ask for nothing in vain", () => {
  expect(judge({})).toEqual({ warnings: [], refusals: [] });
  expect(judgeConfig(legacyDefaultConfig(), new Map())).toEqual({ warnings: [], refusals: [] });
});

test.each([
  [{ systemCgroups: "/system" }, "systemCgroups"],
  [{ imageServiceEndpoint: "unix:///run/images.sock" }, "imageServiceEndpoint"],
])("%j is refused by name", (change, name) => {
  expect(judge(change).refusals.map((refusal) => refusal.split(":")[0])).toEqual([name]);
});

test.each([
  [{ imageServiceEndpoint: fileDefaultConfig().containerRuntimeEndpoint }],
  [{ userNamespaces: { idsPerPod: 65536 } }],
])("%j asks for nothing and is let pass", (change) => {
  expect(judge(change).refusals).toEqual([]);
});

test("flags are judged by their final values", () => {
  const parsed = parseCommandLine([
    "--lock-file=/l",
    "--boot-id-file=/b",
    "--exit-on-lock-contention=false",
  ]);
  expect(parsed.ok).toBe(true);
  if (!parsed.ok) return;
  const { warnings, refusals } = judgeConfig(parsed.value.config, parsed.value.settings);
  expect(refusals).toEqual(["--lock-file: the root folder is locked in any case"]);
  expect(warnings.some((warning) => warning.startsWith("--boot-id-file"))).toBe(true);
});
