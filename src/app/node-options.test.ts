import { describe, expect, test } from "vitest";
import { defaultFeatureGates } from "../config/feature-gates.ts";
import { fileDefaultConfig } from "../config/legacy-defaults.ts";
import { formatQuantity } from "../model/quantity.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";
import { kubeletNodeSettings } from "./node-options.ts";

const runtime = { name: "containerd", features: undefined };

function setup(flags: Readonly<Record<string, string>>, config: object = {}): KubeletSetup {
  return {
    config: { ...fileDefaultConfig(), ...config },
    gates: defaultFeatureGates,
    settings: new Map(Object.entries(flags)),
    warnings: [],
  };
}

describe("the node that flags and configuration ask for", () => {
  test("has upstream's defaults", () => {
    expect(kubeletNodeSettings(setup({}), "node-a")(runtime)).toMatchObject({
      nodeName: "node-a",
      registerNode: true,
      statusUpdateMs: 10_000,
      statusReportMs: 300_000,
      leaseDurationSeconds: 40,
      maxImages: 50,
      maxPods: 110,
      nodeIps: [],
      externalCloudProvider: false,
    });
  });

  test("has the flags' labels and addresses", () => {
    const flags = { "node-labels": "a=b,c=d=e", "node-ip": "10.0.0.5, fd00:0::5" };
    expect(kubeletNodeSettings(setup(flags), "n")(runtime)).toMatchObject({
      nodeLabels: { a: "b", c: "d=e" },
      nodeIps: ["10.0.0.5", "fd00::5"],
    });
  });

  test("reserves what the configuration says, and the eviction thresholds unless configured to ignore them", () => {
    const config = { kubeReserved: { cpu: "100m" }, evictionHard: { "memory.available": "5%" } };
    const { reservations } = kubeletNodeSettings(setup({}, config), "n")(runtime);
    expect(
      [...reservations.kubeReserved].map(([name, amount]) => [name, formatQuantity(amount)]),
    ).toEqual([["cpu", "100m"]]);
    expect(reservations.hardThresholds.map(({ signal }) => signal)).toEqual(["memory.available"]);
    const ignoring = setup({ "experimental-allocatable-ignore-eviction": "true" }, config);
    expect(kubeletNodeSettings(ignoring, "n")(runtime).reservations.hardThresholds).toEqual([]);
  });

  test.each([
    ["node-ip", "10.0.0", '--node-ip "10.0.0" is not an IP address'],
    ["node-ip", "10.0.0.1,10.0.0.2,fd00::1", "more than two addresses"],
    ["cloud-provider", "aws", '--cloud-provider "aws" is unknown'],
  ])("refuses --%s=%s and says why", (flag, value, message) => {
    expect(() => kubeletNodeSettings(setup({ [flag]: value }), "n")).toThrow(message);
  });

  test("leaves addresses to an external cloud provider", () => {
    const settings = kubeletNodeSettings(setup({ "cloud-provider": "external" }), "n")(runtime);
    expect(settings.externalCloudProvider).toBe(true);
  });
});
