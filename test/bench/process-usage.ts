import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** What a process and all its threads have used so far, and hold now. */
interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly wakeUps: number;
  readonly rssMib: number;
  readonly pssMib: number;
  readonly anonymousMib: number;
}

/** The kernel counts a process's time in hundredths of a second. */
const ticksPerSecond = 100;

export function readProcessUsage(pid: number): ProcessUsage {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ");
  const memory = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return {
    cpuSeconds: (Number(fields?.[11]) + Number(fields?.[12])) / ticksPerSecond,
    wakeUps: readdirSync(`/proc/${pid}/task`).reduce((sum, id) => sum + switches(pid, id), 0),
    rssMib: mib(memory, "Rss"),
    pssMib: mib(memory, "Pss"),
    anonymousMib: mib(memory, "Anonymous"),
  };
}

/** The largest resident set of the process since it began, or since `forgetPeakMemory`. */
export function readPeakMib(pid: number): number {
  return mib(readFileSync(`/proc/${pid}/status`, "utf8"), "VmHWM");
}

export function forgetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** A process with all that it has started and that still runs. */
export function readProcessTree(pid: number): ProcessUsage {
  const all = [pid, ...descendantsOf(pid)].flatMap((each) => {
    try {
      return [readProcessUsage(each)];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
  const sum = (key: keyof ProcessUsage): number =>
    all.reduce((total, each) => total + each[key], 0);
  return {
    cpuSeconds: sum("cpuSeconds"),
    wakeUps: sum("wakeUps"),
    rssMib: sum("rssMib"),
    pssMib: sum("pssMib"),
    anonymousMib: sum("anonymousMib"),
  };
}

function descendantsOf(pid: number): readonly number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), parentOf(name)] as const);
  const found: number[] = [];
  for (let level = [pid]; level.length > 0; found.push(...level)) {
    const above = level;
    level = parents.filter(([, parent]) => above.includes(parent)).map(([child]) => child);
  }
  return found;
}

function parentOf(pid: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1]);
  } catch {
    return 0;
  }
}

function switches(pid: number, thread: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  } catch {
    // The thread has ended.
    return 0;
  }
}

function mib(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0) / 1024;
}
