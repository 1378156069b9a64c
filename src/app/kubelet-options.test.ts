import { expect, test } from "vitest";
import { defaultFeatureGates, setFeatureGates } from "../config/feature-gates.ts";
import { clusterSettings } from "./kubelet-options.ts";

const usual = {
  eventRecordQPS: 50,
  eventBurst: 100,
  configMapAndSecretChangeDetectionStrategy: "Watch",
};

test("a way to notice changes that does not exist is refused by the field's name", () => {
  const config = { ...usual, configMapAndSecretChangeDetectionStrategy: "Guess" };
  expect(() => clusterSettings(config, defaultFeatureGates)).toThrow(
    'configMapAndSecretChangeDetectionStrategy: "Guess" is unknown',
  );
});

test("the usual configuration watches objects and sends 50 events a second", () => {
  expect(clusterSettings(usual, defaultFeatureGates)).toEqual({
    eventsPerSecond: 50,
    eventBurst: 100,
    changeDetection: "Watch",
    projectsTrustBundles: false,
  });
});

test("volumes show trust bundles by the feature gate", () => {
  const on = { ClusterTrustBundle: true, ClusterTrustBundleProjection: true };
  const gates = setFeatureGates(defaultFeatureGates, on);
  expect(gates.ok && clusterSettings(usual, gates.value).projectsTrustBundles).toBe(true);
});
