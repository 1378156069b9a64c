/** A process that the kernel killed because memory ran out. */
export interface OomKill {
  /** The cgroup whose limit was reached; "/" when the whole machine ran out. */
  readonly cgroup: string;
  readonly processName: string;
  readonly pid: number;
}

const firstLine = /invoked oom-killer:/;
const constraint = "oom-kill:constraint=";
// The end of a line of one kill: the name of the process stands before it, and may hold anything.
const victim = /,pid=(\d+),uid=/g;
// The fields of such a line before that, the last one first; a kill without a limit names no cgroup.
const limitFields = [
  ",task=",
  ",task_memcg=",
  ",oom_memcg=",
  ",mems_allowed=",
  ",cpuset=",
  ",nodemask=",
];
const globalFields = [",task=", ",global_oom,task_memcg="];
const killed = new RegExp("Killed process (\\d+) \\(");
const olderLimit = { start: "Task in ", middle: " killed as a result of limit of " };

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
    const limit = olderLimitOf(line);
    if (limit !== undefined) {
      this.#cgroup = limit.startsWith("/") ? limit : `/${limit}`;
      return undefined;
    }
    const kill =
      constraintKill(line, limitFields) ?? constraintKill(line, globalFields) ?? plainKill(line);
    if (kill === undefined) return undefined;
    const { cgroup = this.#cgroup, processName, pid } = kill;
    this.#cgroup = undefined;
    return { cgroup, processName, pid };
  }
}

type FoundKill = Omit<OomKill, "cgroup"> & { readonly cgroup?: string };

/** Reads a line from its end, so that no name of a process moves the fields before it. */
function constraintKill(line: string, fields: readonly string[]): FoundKill | undefined {
  const start = line.indexOf(constraint);
  const last = start < 0 ? undefined : [...line.matchAll(victim)].at(-1);
  if (last === undefined) return undefined;
  const values = new Map<string, string>();
  let end = last.index;
  for (const field of fields) {
    const at = line.lastIndexOf(field, end - field.length);
    if (at < start + constraint.length) return undefined;
    values.set(field, line.slice(at + field.length, end));
    end = at;
  }
  const cgroup = values.get(",oom_memcg=");
  const kill = { processName: values.get(",task=") ?? "", pid: Number(last[1]) };
  return cgroup === undefined ? kill : { ...kill, cgroup };
}

function plainKill(line: string): FoundKill | undefined {
  const match = killed.exec(line);
  if (match === null) return undefined;
  const start = match.index + match[0].length;
  const end = line.indexOf(")", start + 1);
  return end < 0 ? undefined : { processName: line.slice(start, end), pid: Number(match[1]) };
}

function olderLimitOf(line: string): string | undefined {
  const { start, middle } = olderLimit;
  const from = line.indexOf(start);
  const to = line.lastIndexOf(middle);
  return from < 0 || to < from + start.length ? undefined : line.slice(to + middle.length);
}

/** The node's event for a kill; undefined when only a limit was reached, which the status of its container reports. */
export function systemOomMessage({ cgroup, processName, pid }: OomKill): string | undefined {
  if (cgroup !== "/") return undefined;
  const victim =
    processName === "" || pid === 0 ? "" : `, victim process: ${processName}, pid: ${pid}`;
  return `System OOM encountered${victim}`;
}
