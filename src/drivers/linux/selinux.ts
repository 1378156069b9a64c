import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseMountInfo } from "../../lib/mount-info.ts";

/** What the node's policy gives to containers and to their files when nothing else is asked for; empty = it does not say. */
export interface SeLinuxContexts {
  readonly processContext: string;
  readonly fileContext: string;
}

/** Whether SELinux has a policy and labels processes by it. */
export function isSelinuxEnabled(mountInfo = "/proc/self/mountinfo"): boolean {
  // Containers that are to take SELinux for disabled get its file system read-only.
  const isThere = parseMountInfo(readText(mountInfo)).some(
    ({ fileSystem, options, superOptions }) =>
      fileSystem === "selinuxfs" && !isReadOnly(options) && !isReadOnly(superOptions),
  );
  if (!isThere) return false;
  // Without a policy every process has the kernel's own label.
  return readText("/proc/self/attr/current").replace(/\0.*$/s, "").trim() !== "kernel";
}

function isReadOnly(options: string): boolean {
  return options.split(",").includes("ro");
}

/** Read as container runtimes do: their own file first, then that of the node's policy. */
export function readSeLinuxContexts(root = "/"): SeLinuxContexts {
  const own = join(root, "usr/share/containers/selinux/contexts");
  const policy = parseSettings(readText(join(root, "etc/selinux/config"))).get("SELINUXTYPE") ?? "";
  const common = join(root, "etc/selinux", policy, "contexts/lxc_contexts");
  const contexts = parseSettings(readText(existsSync(own) ? own : common));
  return { processContext: contexts.get("process") ?? "", fileContext: contexts.get("file") ?? "" };
}

/** Lines of the form name = "value"; others and comments are ignored. */
function parseSettings(text: string): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const line of text.split("\n").map((each) => each.trim())) {
    const [name = "", ...rest] = line.split("=");
    if (rest.length === 0 || line.startsWith("#") || line.startsWith(";")) continue;
    const value = rest.join("=").trim();
    settings.set(name.trim(), value.replace(/^"/, "").replace(/"$/, ""));
  }
  return settings;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
