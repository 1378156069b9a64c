import { access, constants, readFile, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { type CheckResult, failed, passed, warning } from "../../lib/check-result.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Machine } from "../../model/machine.ts";
import { runTool } from "./preflight-tools.ts";

const GIBIBYTE = 2 ** 30;
const LEAST_BYTES = GIBIBYTE / 2;
const SCARCE_BYTES = 5 * GIBIBYTE;
const TMPFS_MAGIC = 0x01021994;

/** Tries the links of a pod network in a network namespace that ends with the trial. */
export async function checkLinks({ tools, isRoot }: Machine): Promise<CheckResult> {
  const name = "bridge and veth";
  const { ip } = tools;
  if (ip === undefined) return failed(name, "ip is missing", "install the package iproute2");
  if (!isRoot) return warning(name, "only root can try them", "run this check as root");
  try {
    await runTool("unshare", ["--net", ip, "link", "add", "trial0", "type", "bridge"]);
    await runTool("unshare", ["--net", ip, "link", "add", "trial0", "type", "veth"]);
    return passed(name, "work");
  } catch (error) {
    return failed(name, errorText(error), "load the kernel modules: modprobe bridge veth");
  }
}

export async function checkForwarding(managed: boolean): Promise<CheckResult> {
  const name = "IP forwarding";
  const value = await readFile("/proc/sys/net/ipv4/ip_forward", "utf8").catch(() => "");
  if (value.trim() === "1") return passed(name, "on");
  if (managed) return passed(name, "off; turned on with the first pod");
  return warning(name, "off", "turn it on: sysctl -w net.ipv4.ip_forward=1");
}

export async function checkDataDir(dataDir: string): Promise<CheckResult> {
  const name = "data folder";
  const fix = "choose another data folder";
  if (!dataDir.startsWith("/")) return failed(name, `${dataDir} is not absolute`, fix);
  try {
    const existing = await nearestExisting(dataDir);
    if (!(await stat(existing)).isDirectory()) return failed(name, `${existing} is a file`, fix);
    await access(existing, constants.W_OK);
    if ((await statfs(existing)).type === TMPFS_MAGIC) {
      return warning(name, `${dataDir} is in memory and lost when the machine restarts`, fix);
    }
    return passed(name, dataDir);
  } catch (error) {
    return failed(name, errorText(error), fix);
  }
}

export async function checkDiskSpace(dataDir: string): Promise<CheckResult> {
  const name = "disk space";
  try {
    const { bavail, bsize } = await statfs(await nearestExisting(dataDir));
    const found = `${((bavail * bsize) / GIBIBYTE).toFixed(1)} GiB free for ${dataDir}`;
    const fix = "free some space or choose another data folder";
    if (bavail * bsize < LEAST_BYTES) return failed(name, found, fix);
    return bavail * bsize < SCARCE_BYTES ? warning(name, found, fix) : passed(name, found);
  } catch (error) {
    return failed(name, errorText(error), "choose another data folder");
  }
}

async function nearestExisting(path: string): Promise<string> {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  return exists || path === "/" || path === "." ? path : nearestExisting(dirname(path));
}
