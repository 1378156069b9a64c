import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const numaFolder = "/sys/devices/system/node";

/** What outlasts the agents of a node. */
interface NodeFolders {
  readonly rootDir: string;
  /** Takes what this adds. */
  readonly folder: string;
}

/**
 * The command of an agent that has a node's /var/lib/kubelet to itself: a kubelet serves device plugins there whatever its root
 * folder is. Here that is a folder in its root folder, and this machine's /var/lib stays as it was. The memory of the NUMA nodes stays
 * what it was when the node began: a virtual machine may be given more meanwhile, upon which a memory manager refuses
 * its state. Otherwise it sees the mounts of all; others see those below its root folder, which becomes a mount of its own.
 */
export function onPrivateNode(
  { rootDir, folder }: NodeFolders,
  program: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  const plugins = join(rootDir, "device-plugins");
  mkdirSync(plugins, { recursive: true });
  if (!isMount(rootDir)) {
    execFileSync("mount", ["--bind", rootDir, rootDir]);
    execFileSync("mount", ["--make-shared", rootDir]);
  }
  const layers = mkdtempSync(join(folder, "var-lib-"));
  const [upper, work] = ["upper", "work"].map((name) => join(layers, name)) as [string, string];
  for (const layer of [upper, work]) mkdirSync(layer);
  const script = `
    set -e
    for folder in /var/lib ${numaFolder}; do
      mount --make-slave "$(findmnt --noheadings --output TARGET --target $folder)"
    done
    mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$1,workdir=$2" /var/lib
    mkdir -p /var/lib/kubelet/device-plugins
    mount --bind "$3" /var/lib/kubelet/device-plugins
    ${keptMemory(folder).join("\n")}
    shift 3
    exec "$@"
  `;
  const unshare = ["--mount", "--propagation", "unchanged"];
  const shell = ["sh", "-c", script, "sh", upper, work, plugins];
  return ["unshare", ...unshare, "--", ...shell, ...program];
}

/** Commands that show the memory of each NUMA node as it was when this was first asked for. */
function keptMemory(folder: string): readonly string[] {
  const nodes = readdirSync(numaFolder).filter((name) => /^node\d+$/.test(name));
  return nodes.map((name) => {
    const file = join(numaFolder, name, "meminfo");
    const kept = join(folder, `memory-of-${name}`);
    // Not copyFile, which never ends on such a file.
    if (!existsSync(kept)) writeFileSync(kept, readFileSync(file));
    return `mount --bind '${kept}' ${file}`;
  });
}

function isMount(path: string): boolean {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .some((line) => line.split(" ")[4] === path);
}
