import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const base = "/sys/fs/cgroup";

/** Makes the cgroup that a node's pods go below: a kubelet wants to find it. */
export function makeNodeCgroup(path: string): void {
  for (const hierarchy of hierarchies()) {
    mkdirSync(hierarchy + path, { recursive: true });
    // Of version 1: no process can enter a cgroup that has no processors.
    for (const name of ["cpuset.cpus", "cpuset.mems"]) {
      const own = `${hierarchy}${path}/${name}`;
      if (!existsSync(`${base}/cgroup.controllers`) && existsSync(own)) {
        writeFileSync(own, readFileSync(`${hierarchy}/${name}`, "utf8").trim());
      }
    }
  }
}

/** The cgroups of pods below a node's. */
export function listPodCgroups(path: string): readonly string[] {
  return hierarchies()
    .filter((hierarchy) => existsSync(hierarchy + path))
    .flatMap((hierarchy) =>
      readdirSync(hierarchy + path, { recursive: true, encoding: "utf8" })
        .filter((name) => /pod[0-9a-f-]{32,36}$/.test(name))
        .map((name) => `${hierarchy}${path}/${name}`),
    );
}

function hierarchies(): readonly string[] {
  if (existsSync(`${base}/cgroup.controllers`)) return [base];
  return readdirSync(base).map((name) => `${base}/${name}`);
}
