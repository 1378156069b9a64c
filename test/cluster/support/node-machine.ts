import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { removeCgroups } from "../../integration/support/leftovers.ts";
import { removeFolder } from "../../integration/support/remove-folder.ts";
import { makeTestFolder } from "../../integration/support/test-folder.ts";
import { claimClusterAddress } from "./cluster-address.ts";

/** Folders of a node that programs know by name. */
const nodeFolders = [
  "/var/lib/kubelet",
  "/var/lib/etcd",
  "/etc/kubernetes",
  "/var/log/pods",
  "/var/log/containers",
  "/var/lib/cni/results",
];

/** Stands for the programs of systemd that kubeadm and the suites call: units are scripts in the folder `UNIT_FOLDER`. */
export const systemdPrograms: string = join(
  import.meta.dirname,
  "../../../test/cluster/support/systemd",
);

/**
 * Runs a program on a machine of its own as far as network, mounts and processes go: so a node may have its usual folders
 * and ports there. `run` gets the number of its network, with which its cgroup is named too.
 */
export async function runOnNodeMachine(
  command: (network: number) => readonly string[],
): Promise<void> {
  const claim = await claimClusterAddress();
  const folder = makeTestFolder("node");
  try {
    const start = [setup(folder, claim.address), "sh", ...command(claim.network)];
    const flags = ["--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"];
    const unshare = ["unshare", ...flags, "catatonit", "--", "sh", "-c", ...start];
    const child = spawn("setpriv", ["--pdeathsig", "TERM", "--", ...unshare], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    const stop = (): void => void child.kill("SIGKILL");
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, stop);
    await once(child, "close");
    if (child.exitCode !== 0) throw new Error("the run on a machine of its own failed");
  } finally {
    removeCgroups(`/berth-t${claim.network}`);
    await removeFolder(folder);
    await claim.release();
  }
}

/**
 * Test folders are made in /var/tmp: inside that is this run's own folder, so that other runs, which see other process ids,
 * do not take them for those of a killed one. The route leads nowhere: addresses of services need one to be sent to at all.
 */
function setup(folder: string, address: string): string {
  const copies = ["/etc", "/var/lib", "/var/log"].map((path, index) => {
    const [upper, work] = ["upper", "work"].map((name) => join(folder, `${name}-${index}`));
    for (const made of [upper, work]) mkdirSync(made ?? "");
    return `mount -t overlay overlay -o lowerdir=${path},upperdir=${upper},workdir=${work} ${path}`;
  });
  return [
    "set -e",
    "mount --make-rprivate /",
    ...copies,
    ...ownNodeFolders(folder),
    `mount --bind ${folder} /var/tmp`,
    "mount --make-rshared /",
    "ip link set lo up",
    `ip address add ${address}/32 dev lo`,
    "ip link add node0 type bridge",
    `ip address add ${address}/24 dev node0`,
    "ip link set node0 up",
    `ip route add default via ${address.replace(/\d+$/, "254")}`,
    'exec "$@"',
  ].join("\n");
}

/** Commands that make the node's folders those of this folder. */
export function ownNodeFolders(folder: string): readonly string[] {
  return nodeFolders.flatMap((path, index) => {
    const source = join(folder, `node-${index}`);
    mkdirSync(source);
    return [`mkdir -p ${path}`, `mount --bind ${source} ${path}`];
  });
}
