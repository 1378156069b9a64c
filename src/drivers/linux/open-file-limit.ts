import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const timeoutMs = 10_000;

/** How many files this process may have open, as both of its limits; Node has no setrlimit(2). */
export async function setOpenFileLimit(count: number, signal: AbortSignal): Promise<void> {
  await run("prlimit", [`--pid=${process.pid}`, `--nofile=${count}:${count}`], {
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
    timeout: timeoutMs,
    signal,
  });
}
