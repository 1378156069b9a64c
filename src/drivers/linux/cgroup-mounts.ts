/** Where the cgroup hierarchies are mounted. */
export interface CgroupMounts {
  /** Controller to mount point; the named hierarchy of systemd is "systemd". */
  readonly v1: ReadonlyMap<string, string>;
  /** The unified hierarchy: alone on v2, beside the others on a hybrid machine. */
  readonly v2: string | undefined;
}

const controllers: ReadonlySet<string> = new Set([
  "cpu",
  "cpuacct",
  "cpuset",
  "memory",
  "pids",
  "hugetlb",
  "devices",
  "freezer",
  "blkio",
  "net_cls",
  "net_prio",
  "perf_event",
  "rdma",
  "misc",
]);

/** Reads the mounts from the text of /proc/self/mountinfo. A controller mounted twice has the shorter path. */
export function parseCgroupMounts(mountinfo: string): CgroupMounts {
  const v1 = new Map<string, string>();
  let v2: string | undefined;
  for (const line of mountinfo.split("\n")) {
    if (!line.includes(" - cgroup")) continue;
    const [before = "", after = ""] = line.split(" - ", 2);
    const mountPoint = unescapePath(before.split(" ")[4] ?? "");
    const [type, , options = ""] = after.split(" ");
    if (type === "cgroup2") v2 = shorter(v2, mountPoint);
    if (type !== "cgroup") continue;
    for (const option of options.split(",")) {
      const name = option === "name=systemd" ? "systemd" : option;
      if (name === "systemd" || controllers.has(name)) {
        v1.set(name, shorter(v1.get(name), mountPoint));
      }
    }
  }
  return { v1, v2 };
}

function shorter(known: string | undefined, found: string): string {
  return known === undefined || found.length < known.length ? found : known;
}

/** The kernel writes blanks and backslashes in a path as octal. */
function unescapePath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}
