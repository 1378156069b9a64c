import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { checkKubeletConfig } from "./check-config.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-config-"));

afterAll(() => rmSync(folder, { recursive: true }));

function check(lines: readonly string[]) {
  const file = join(folder, "config.yaml");
  const head = ["apiVersion: kubelet.config.k8s.io/v1beta1", "kind: KubeletConfiguration"];
  writeFileSync(file, [...head, ...lines].join("\n"));
  return checkKubeletConfig(file);
}

test("a fully supported file passes, and its runtime is reported", () => {
  const { results, runtimeEndpoint } = check([
    "containerRuntimeEndpoint: unix:///run/x.sock",
    "failCgroupV1: false",
  ]);
  expect(results).toMatchObject([{ status: "ok" }]);
  expect(runtimeEndpoint).toBe("unix:///run/x.sock");
});

test("everything that is wrong, refused or without effect is named at once", () => {
  const { results } = check(["maxPods: -1", "featureGates: {PodsAPI: true}", "noSuchField: 1"]);
  const found = results.map((each) => `${each.status} ${each.found}`);
  expect(found).toContainEqual(expect.stringMatching(/^failed .*maxPods/));
  expect(found).toContainEqual(expect.stringMatching(/^failed featureGates PodsAPI=true: /));
  expect(found).toContainEqual(expect.stringMatching(/^warning .*noSuchField/));
});

test("a file that cannot be read or decoded fails, with what is wrong", () => {
  expect(check(["maxPods: many"]).results).toMatchObject([{ status: "failed" }]);
  expect(checkKubeletConfig(join(folder, "none.yaml")).results).toMatchObject([
    { status: "failed", found: expect.stringContaining("ENOENT") },
  ]);
});
