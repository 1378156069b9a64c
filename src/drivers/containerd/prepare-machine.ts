import { access, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "../../lib/result.ts";
import { SetupError } from "../../lib/setup-error.ts";
import { hasCapability, type Machine, type Tool } from "../../model/machine.ts";
import type { NetworkSettings } from "./containerd-config.ts";
import { runCommand } from "./run-command.ts";

const PACKAGES: Readonly<Record<Tool, string>> = {
  containerd: "containerd",
  ctr: "containerd",
  runc: "runc",
  iptables: "iptables",
  ip: "iproute2",
  mount: "mount",
  umount: "mount",
};

/** The programs that a managed containerd needs, by absolute path. */
export type ContainerdTools = Readonly<Record<Tool, string>> & { readonly cniFolder: string };

/** Throws, naming what is missing and what to install, unless the machine can run containers. */
export function requireTools(machine: Machine): ContainerdTools {
  if (!machine.isRoot) {
    throw new SetupError("running containers needs root", "start Berth as root (sudo)");
  }
  for (const name of ["CAP_SYS_ADMIN", "CAP_NET_ADMIN"] as const) {
    if (!hasCapability(machine, name)) {
      throw new SetupError(`the capability ${name} is missing`, "run Berth with it");
    }
  }
  if (machine.cgroups.version === "none") {
    throw new SetupError("no cgroups are mounted", "mount cgroup2 on /sys/fs/cgroup");
  }
  const { cni } = machine;
  if (cni.folder === undefined || cni.missing.length > 0) {
    throw new SetupError(
      `the CNI plugins ${cni.missing.join(", ")} are not in ${cni.searched.join(", ")}`,
      "install the package containernetworking-plugins",
    );
  }
  const tool = (name: Tool): string => requireTool(machine, name);
  return {
    containerd: tool("containerd"),
    ctr: tool("ctr"),
    runc: tool("runc"),
    iptables: tool("iptables"),
    ip: tool("ip"),
    mount: tool("mount"),
    umount: tool("umount"),
    cniFolder: cni.folder,
  };
}

function requireTool(machine: Machine, name: Tool): string {
  const path = machine.tools[name];
  if (path !== undefined) return path;
  throw new SetupError(`${name} is not installed`, `install the package ${PACKAGES[name]}`);
}

/** Whether overlay mounts work below this folder; only a trial shows it: on an overlay they do not. */
export async function canMountOverlay(folder: string, tools: ContainerdTools): Promise<boolean> {
  const trial = join(folder, "overlay-trial");
  const [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map((name) =>
    join(trial, name),
  );
  if (lower === undefined || upper === undefined || work === undefined || merged === undefined) {
    return false;
  }
  try {
    for (const path of [lower, upper, work, merged]) await mkdir(path, { recursive: true });
    const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    await runCommand(tools.mount, ["-t", "overlay", "overlay", "-o", options, merged]);
    await runCommand(tools.umount, [merged]);
    return true;
  } catch {
    return false;
  } finally {
    await rm(trial, { recursive: true, force: true });
  }
}

/** Throws unless the bridge and the subnet are well-formed and free; `isOurs`: this data folder made the bridge. */
export async function checkNetwork(network: NetworkSettings, isOurs: boolean): Promise<void> {
  const subnet = readNetwork(network);
  const exists = await access(`/sys/class/net/${network.bridge}`).then(
    () => true,
    () => false,
  );
  if (exists && !isOurs) {
    throw new SetupError(
      `the network interface ${network.bridge} exists already`,
      `choose another bridge name, or delete it with: ip link delete ${network.bridge}`,
    );
  }
  const routes = await readFile("/proc/net/route", "utf8").catch(() => "");
  const user = overlappingRoute(routes, subnet, network.bridge);
  if (user !== undefined) {
    throw new SetupError(
      `the subnet ${network.subnet} overlaps a route of the interface ${user}`,
      "choose another subnet for pods",
    );
  }
}

/** The subnet. Throws a SetupError that names the flag of what is not well-formed. */
export function readNetwork({ bridge, subnet }: NetworkSettings): Subnet {
  if (!/^[A-Za-z][\w.-]{0,14}$/.test(bridge)) {
    throw new SetupError(
      `--bridge: bridge name ${JSON.stringify(bridge)} is not valid`,
      "use at most 15 letters, digits, dots and hyphens",
    );
  }
  const parsed = parseSubnet(subnet);
  if (parsed.ok) return parsed.value;
  throw new SetupError(`--subnet: ${parsed.error}`, "use one such as 10.88.0.0/16");
}

interface Subnet {
  readonly address: number;
  readonly mask: number;
}

function parseSubnet(text: string): Result<Subnet, string> {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(text);
  const bytes = (match ?? []).slice(1, 5).map(Number);
  const bits = Number(match?.[5]);
  if (match === null || bytes.some((byte) => byte > 255) || bits < 8 || bits > 29) {
    return err(`subnet ${JSON.stringify(text)} is not an IPv4 network of /8 to /29`);
  }
  const mask = (0xffffffff << (32 - bits)) >>> 0;
  const address = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  if ((address & ~mask) !== 0) return err(`subnet ${text} has bits outside of its mask`);
  return ok({ address, mask });
}

/** The interface of the first route of /proc/net/route, other than a default route, that overlaps the subnet. */
export function overlappingRoute(
  routes: string,
  subnet: Subnet,
  ownInterface: string,
): string | undefined {
  for (const line of routes.split("\n").slice(1)) {
    const [name = "", destination = "", , , , , , maskText = ""] = line.split("\t");
    const mask = littleEndian(maskText);
    if (name === "" || name === ownInterface || mask === 0) continue;
    const wider = (mask & subnet.mask) >>> 0;
    if ((littleEndian(destination) & wider) >>> 0 === (subnet.address & wider) >>> 0) return name;
  }
  return undefined;
}

function littleEndian(hex: string): number {
  const bytes = Buffer.from(hex.padStart(8, "0"), "hex");
  return bytes.readUInt32LE(0);
}
