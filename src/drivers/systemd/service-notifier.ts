import { spawn } from "node:child_process";

const timeoutMs = 10_000;

/** The service manager that started this process and wants to be notified. */
export interface ServiceManager {
  readonly socket: string;
  /** How long it waits for a sign of life; undefined = for ever. */
  readonly watchdogMs: number | undefined;
}

/**
 * Undefined when no service manager expects notifications. Its variables are taken out of the environment: containerd, say, would announce
 * itself in the agent's name.
 */
export function takeServiceManager(
  environment: Record<string, string | undefined>,
  pid: number,
): ServiceManager | undefined {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: period, WATCHDOG_PID: watched } = environment;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete environment[name];
  if (socket === undefined || socket === "") return undefined;
  const isWatched = watched === undefined || watched === "" || Number(watched) === pid;
  const watchdogMs = Number(period) / 1000;
  return { socket, watchdogMs: isWatched && watchdogMs > 0 ? watchdogMs : undefined };
}

/**
 * Sends a message to the service manager. Node has no datagram sockets of the file system, so systemd's own program sends it, as
 * this process where it may: 6 ms of processor time each (docs/adr/0018).
 */
export function notifyServiceManager({ socket }: ServiceManager, message: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("systemd-notify", [message], {
      stdio: "ignore",
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", NOTIFY_SOCKET: socket },
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    child.once("error", reject);
    child.once("exit", (code, killedBy) => {
      if (code === 0) resolve();
      else reject(new Error(`systemd-notify ended with ${killedBy ?? code}`));
    });
  });
}
