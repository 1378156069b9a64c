import { expect, test } from "vitest";
import { defaultFeatureGates, setFeatureGates } from "../config/feature-gates.ts";
import { clusterSettings, devicePluginFolder } from "./kubelet-options.ts";

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
    requestsPodCertificates: false,
  });
});

test.each([
  ["projectsTrustBundles", { ClusterTrustBundle: true, ClusterTrustBundleProjection: true }],
  ["requestsPodCertificates", { PodCertificateRequest: true }],
] as const)("%s follows its feature gate", (setting, on) => {
  const gates = setFeatureGates(defaultFeatureGates, on);
  expect(gates.ok && clusterSettings(usual, gates.value)[setting]).toBe(true);
});

test.each([
  { given: {}, folder: "/var/lib/kubelet/device-plugins" },
  { given: { BERTH_DEVICE_PLUGINS: "" }, folder: "/var/lib/kubelet/device-plugins" },
  { given: { BERTH_DEVICE_PLUGINS: "/srv/plugins" }, folder: "/srv/plugins" },
])("device plugins register in $folder with $given", ({ given, folder }) => {
  expect(devicePluginFolder(given)).toBe(folder);
});

test("a folder of device plugins that depends on where the agent was started is refused", () => {
  expect(() => devicePluginFolder({ BERTH_DEVICE_PLUGINS: "plugins" })).toThrow(
    'BERTH_DEVICE_PLUGINS: "plugins" is not an absolute path',
  );
});
