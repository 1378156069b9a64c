/** A process that the kernel killed because memory ran out. */
export interface OomKill {
  /** The cgroup whose limit was reached; "/" when the whole machine ran out. */
  readonly cgroup: string;
  readonly processName: string;
  readonly pid: number;
}

const firstLine = /invoked oom-killer:/;
const constraintLine =
  /oom-kill:constraint=.*,nodemask=.*,cpuset=.*,mems_allowed=.*,oom_memcg=(?<cgroup>.*),task_memcg=.*,task=(?<name>.*),pid=(?<pid>\d+),uid=/;
/** A kill without a limit names no cgroup. */
const globalLine =
  /oom-kill:constraint=.*,global_oom,task_memcg=.*,task=(?<name>.*),pid=(?<pid>\d+),uid=/;
const killedLine = new RegExp("Killed process (?<pid>\\d+) \\((?<name>.+?)\\)");
const olderLimitLine = /Task in .* killed as a result of limit of (?<cgroup>.*)/;

/** Puts the lines of the kernel's report of one kill together. */
export class OomReport {
  #cgroup: string | undefined;

  /** Takes the next line; answers the kill that it completes. */
  take(line: string): OomKill | undefined {
    if (firstLine.test(line)) {
      this.#cgroup = "/";
      return undefined;
    }
    if (this.#cgroup === undefined) return undefined;
    const limit = olderLimitLine.exec(line)?.groups?.["cgroup"];
    if (limit !== undefined) {
      this.#cgroup = limit.startsWith("/") ? limit : `/${limit}`;
      return undefined;
    }
    const groups = [constraintLine, globalLine, killedLine]
      .map((pattern) => pattern.exec(line)?.groups)
      .find((found) => found !== undefined);
    if (groups === undefined) return undefined;
    const cgroup = groups["cgroup"] ?? this.#cgroup;
    this.#cgroup = undefined;
    return { cgroup, processName: groups["name"] ?? "", pid: Number(groups["pid"]) };
  }
}

/** The node's event for a kill; undefined when only a limit was reached, which its own container tells. */
export function systemOomMessage({ cgroup, processName, pid }: OomKill): string | undefined {
  if (cgroup !== "/") return undefined;
  const victim =
    processName === "" || pid === 0 ? "" : `, victim process: ${processName}, pid: ${pid}`;
  return `System OOM encountered${victim}`;
}
