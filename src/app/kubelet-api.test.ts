import { expect, test } from "vitest";
import { defaultFeatureGates, setFeatureGates } from "../config/feature-gates.ts";
import { MetricsRegistry } from "../lib/metrics-registry.ts";
import { metricDefinitions } from "../model/generated/metrics.ts";
import { reportBuild } from "./kubelet-api.ts";

test("the release and every feature gate are reported", () => {
  const gates = setFeatureGates(defaultFeatureGates, { ContainerStopSignals: true });
  const registry = new MetricsRegistry(metricDefinitions);
  reportBuild(registry, gates.ok ? gates.value : defaultFeatureGates);
  const lines = registry.text(() => true).split("\n");
  expect(lines.find((line) => line.startsWith("kubernetes_build_info"))).toMatch(
    /git_version="v1\.36\.\d+\+berth-.*major="1",minor="36",platform="linux\//,
  );
  const feature = (name: string) => lines.find((line) => line.includes(`{name="${name}"`));
  expect(feature("AllAlpha")).toBe('kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0');
  expect(feature("ContainerStopSignals")).toMatch(/stage="ALPHA"} 1$/);
  expect(feature("APIServerTracing")).toMatch(/stage=""} 1$/);
});
