import type { ContainerdPaths } from "./containerd-paths.ts";

export type Snapshotter = "overlayfs" | "native";

export interface ContainerdSettings {
  readonly paths: ContainerdPaths;
  readonly runc: string;
  readonly cniPluginFolder: string;
  readonly sandboxImage: string;
  readonly snapshotter: Snapshotter;
  readonly cgroupDriver: "cgroupfs" | "systemd";
  /** Without CAP_SYS_RESOURCE no process can be made less likely to be killed than its parent. */
  readonly mayLowerOomScore: boolean;
}

export interface NetworkSettings {
  readonly bridge: string;
  readonly subnet: string;
}

// Each would probe or touch the machine outside of the data folder.
const DISABLED_PLUGINS = [
  "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.restart",
  "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
];

/** containerd's config.toml. Version 2 is read by containerd 1.6 and all that followed. */
export function containerdConfig(settings: ContainerdSettings): string {
  const { paths } = settings;
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const lines = [
    "version = 2",
    `root = ${quote(paths.root)}`,
    `state = ${quote(paths.state)}`,
    `oom_score = ${settings.mayLowerOomScore ? -999 : 0}`,
    // A containerd whose CRI does not load would otherwise run on without it.
    'required_plugins = ["io.containerd.grpc.v1.cri"]',
    `disabled_plugins = [${DISABLED_PLUGINS.map(quote).join(", ")}]`,
    "",
    "[grpc]",
    `address = ${quote(paths.socket)}`,
    "",
    "[debug]",
    'level = "warn"',
    "",
    `[${cri}]`,
    `sandbox_image = ${quote(settings.sandboxImage)}`,
    'stream_server_address = "127.0.0.1"',
    'stream_server_port = "0"',
    `restrict_oom_score_adj = ${!settings.mayLowerOomScore}`,
    "netns_mounts_under_state_dir = true",
    // How DRA drivers and device plugins describe devices. Containerd 1.6 does not know it, 1.7 has it off, 2 on.
    "enable_cdi = true",
    "",
    `[${cri}.cni]`,
    `bin_dir = ${quote(settings.cniPluginFolder)}`,
    `conf_dir = ${quote(paths.cniConfigFolder)}`,
    "",
    `[${cri}.registry]`,
    'config_path = "/etc/containerd/certs.d"',
    "",
    `[${cri}.containerd]`,
    `snapshotter = ${quote(settings.snapshotter)}`,
    'default_runtime_name = "runc"',
    "",
    `[${cri}.containerd.runtimes.runc]`,
    'runtime_type = "io.containerd.runc.v2"',
    "",
    `[${cri}.containerd.runtimes.runc.options]`,
    `BinaryName = ${quote(settings.runc)}`,
    `Root = ${quote(paths.runcRoot)}`,
    `SystemdCgroup = ${settings.cgroupDriver === "systemd"}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** The snapshotter of an earlier configuration: images and containers are bound to it. */
export function configuredSnapshotter(config: string): Snapshotter | undefined {
  const name = /^snapshotter = "(\w+)"$/m.exec(config)?.[1];
  return name === "overlayfs" || name === "native" ? name : undefined;
}

export interface CniOptions {
  readonly ipamFolder: string;
  readonly mtu: number | undefined;
  /** The plugin that limits traffic is installed. */
  readonly limitsBandwidth: boolean;
}

/** The CNI network list: a bridge of its own, addresses kept in the data folder, host ports, traffic limits. */
export function cniConfig(
  network: NetworkSettings,
  { ipamFolder, mtu, limitsBandwidth }: CniOptions,
): string {
  const list = {
    cniVersion: "0.4.0",
    name: network.bridge,
    plugins: [
      {
        type: "bridge",
        bridge: network.bridge,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ...(mtu === undefined ? {} : { mtu }),
        ipam: {
          type: "host-local",
          dataDir: ipamFolder,
          ranges: [[{ subnet: network.subnet }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
      ...(limitsBandwidth ? [{ type: "bandwidth", capabilities: { bandwidth: true } }] : []),
    ],
  };
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

// A TOML basic string takes JSON's escapes.
function quote(text: string): string {
  return JSON.stringify(text);
}
