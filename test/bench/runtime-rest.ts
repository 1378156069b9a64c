import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const windowMs = 250;
const longestMs = 15_000;
/** So many hundredths of a second of processor time in a window are nothing. */
const restTicks = 1;
const quietWindows = 2;

/**
 * Waits until the runtime has nothing to do: it takes no processor time and its processes come and go no more. What one
 * case leaves to clean up is not to be charged to the next. Bounded: a runtime that others use may never rest.
 */
export async function untilAtRest(endpoint: string): Promise<void> {
  const socket = endpoint.replace(/^unix:\/\//, "");
  const pid = listenerOf(socket);
  if (pid === undefined) return;
  const deadlineMs = performance.now() + longestMs;
  let before = readWork(pid, socket);
  for (let quiet = 0; quiet < quietWindows && performance.now() < deadlineMs; ) {
    await delay(windowMs);
    const after = readWork(pid, socket);
    const isQuiet = after.ticks - before.ticks <= restTicks && after.processes === before.processes;
    quiet = isQuiet ? quiet + 1 : 0;
    before = after;
  }
}

/** The process that listens on a socket. */
function listenerOf(socket: string): string | undefined {
  const line = readFileSync("/proc/net/unix", "utf8")
    .split("\n")
    .map((text) => text.split(/\s+/))
    // Marked as accepting connections.
    .find((fields) => fields[7] === socket && fields[3] === "00010000");
  const target = `socket:[${line?.[6]}]`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => openFiles(pid).includes(target));
}

function openFiles(pid: string): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => readlinkSync(`${folder}/${name}`));
  } catch {
    // It has ended, or closed one meanwhile.
    return [];
  }
}

/** The runtime's processor time, and how many processes were started for its socket. */
function readWork(
  pid: string,
  socket: string,
): { readonly ticks: number; readonly processes: string } {
  const fields = readText(`/proc/${pid}/stat`).split(") ")[1]?.split(" ");
  const helpers = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => readText(`/proc/${name}/cmdline`).includes(socket));
  return { ticks: Number(fields?.[11]) + Number(fields?.[12]), processes: helpers.join(" ") };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
