import { expect, test } from "vitest";
import { cniConfig, configuredSnapshotter, containerdConfig } from "./containerd-config.ts";
import { containerdPaths } from "./containerd-paths.ts";

const SETTINGS = {
  paths: containerdPaths('/data "x"'),
  runc: "/usr/sbin/runc",
  cniPluginFolder: "/usr/lib/cni",
  sandboxImage: "registry.k8s.io/pause:3.10",
  snapshotter: "native",
  cgroupDriver: "systemd",
  mayLowerOomScore: false,
} as const;

test("the configuration follows the machine and quotes what it is given", () => {
  const lines = containerdConfig(SETTINGS).split("\n");
  expect(lines).toContain('root = "/data \\"x\\"/containerd/root"');
  expect(lines).toContain('snapshotter = "native"');
  expect(lines).toContain("SystemdCgroup = true");
  expect(lines).toContain("restrict_oom_score_adj = true");
  expect(lines).toContain("oom_score = 0");
  expect(lines).toContain("enable_cdi = true");
  const able = containerdConfig({ ...SETTINGS, mayLowerOomScore: true }).split("\n");
  expect(able).toContain("restrict_oom_score_adj = false");
  expect(able).toContain("oom_score = -999");
});

test("the snapshotter of an earlier configuration is kept", () => {
  expect(configuredSnapshotter(containerdConfig(SETTINGS))).toBe("native");
  expect(configuredSnapshotter("")).toBeUndefined();
});

test("the network has its own bridge and keeps its addresses in the data folder", () => {
  const network = { bridge: "berth1", subnet: "10.9.0.0/24" };
  const options = { ipamFolder: "/data/ipam", mtu: 1400, limitsBandwidth: false };
  const plugins = [
    { type: "bridge", bridge: "berth1", mtu: 1400, ipam: { dataDir: "/data/ipam" } },
    { type: "portmap", capabilities: { portMappings: true } },
  ];
  expect(JSON.parse(cniConfig(network, options))).toMatchObject({ name: "berth1", plugins });
  const limiting = { type: "bandwidth", capabilities: { bandwidth: true } };
  expect(JSON.parse(cniConfig(network, { ...options, limitsBandwidth: true }))).toMatchObject({
    plugins: [...plugins, limiting],
  });
});
