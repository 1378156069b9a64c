import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { timeoutSignal } from "../../lib/timers.ts";
import type { ShutdownLock, ShutdownService } from "../../ports/shutdown.ts";
import { DbusConnection } from "./dbus-connection.ts";

const login = {
  destination: "org.freedesktop.login1",
  path: "/org/freedesktop/login1",
  interface: "org.freedesktop.login1.Manager",
};
const hangUpSignal = 1;
const lockTimeoutMs = 10_000;

export interface LogindOptions {
  /** The socket of the system's message bus. */
  readonly busPath?: string;
  /** The folder of logind's own settings. */
  readonly settingsFolder?: string;
  /** The program that holds a lock for as long as another one runs. */
  readonly inhibitProgram?: string;
}

/** Shutdown as systemd's logind does it. */
export class Logind implements ShutdownService {
  readonly #options: LogindOptions;

  constructor(options: LogindOptions = {}) {
    this.#options = options;
  }

  async maxDelayMs(): Promise<number> {
    const [value] = await this.#withBus((bus) =>
      bus.call({
        ...login,
        interface: "org.freedesktop.DBus.Properties",
        member: "Get",
        signature: "ss",
        body: [login.interface, "InhibitDelayMaxUSec"],
      }),
    );
    const micros = typeof value === "object" && "signature" in value ? value.value : undefined;
    if (typeof micros !== "bigint") {
      throw new Error("InhibitDelayMaxUSec from logind is not a uint64 as expected");
    }
    return Number(micros / 1000n);
  }

  async extendMaxDelay(delayMs: number): Promise<void> {
    const folder = this.#options.settingsFolder ?? "/etc/systemd/logind.conf.d";
    await mkdir(folder, { recursive: true, mode: 0o755 });
    // The file that the kubelet writes: of two agents on one machine the last one counts.
    const text = `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.round(delayMs / 1000)}\n`;
    await writeFile(join(folder, "99-kubelet.conf"), text, { mode: 0o644 });
    await this.#withBus((bus) =>
      bus.call({
        destination: "org.freedesktop.systemd1",
        path: "/org/freedesktop/systemd1",
        interface: "org.freedesktop.systemd1.Manager",
        member: "KillUnit",
        signature: "ssi",
        body: ["systemd-logind.service", "all", hangUpSignal],
      }),
    );
  }

  /** A program holds the lock: Node cannot take over the open file that logind would hand out. */
  async lock(): Promise<ShutdownLock> {
    const program = this.#options.inhibitProgram ?? "systemd-inhibit";
    const why = "--why=Kubelet needs time to handle node shutdown";
    const holder = spawn(
      program,
      [
        "--what=shutdown",
        "--who=kubelet",
        why,
        "--mode=delay",
        "sh",
        "-c",
        "echo held && exec cat",
      ],
      { stdio: ["pipe", "pipe", "pipe"] },
    );
    let problem = "";
    holder.stderr.on("data", (data: Buffer) => {
      problem = `${problem}${data.toString()}`.slice(-1000);
    });
    // Its input ends with ours, however the agent ends; then the program ends, and with it the lock.
    holder.stdin.on("error", () => undefined);
    try {
      await waitForLock(holder);
    } catch (error) {
      holder.kill("SIGKILL");
      const reason = problem.trim() || (error instanceof Error ? error.message : String(error));
      throw new Error(`failed creating systemd inhibitor: ${reason}`, { cause: error });
    }
    return { release: () => holder.stdin.end() };
  }

  async watch(onChange: (isShuttingDown: boolean) => void, signal: AbortSignal): Promise<void> {
    const bus = await DbusConnection.open(this.#options.busPath);
    const stop = (): void => bus.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const rule = `type='signal',interface='${login.interface}',member='PrepareForShutdown',path='${login.path}'`;
      await bus.listen(rule, ({ member, body }) => {
        const [isShuttingDown] = body ?? [];
        if (member === "PrepareForShutdown" && typeof isShuttingDown === "boolean") {
          onChange(isShuttingDown);
        }
      });
      const reason = await bus.closed;
      if (!signal.aborted) throw reason;
    } finally {
      signal.removeEventListener("abort", stop);
      bus.close();
    }
  }

  async #withBus<T>(use: (bus: DbusConnection) => Promise<T>): Promise<T> {
    const bus = await DbusConnection.open(this.#options.busPath);
    try {
      return await use(bus);
    } finally {
      bus.close();
    }
  }
}

async function waitForLock(holder: ChildProcess): Promise<void> {
  const signal = timeoutSignal(lockTimeoutMs);
  const ended = once(holder, "exit", { signal }).then(() => {
    throw new Error("the program that holds the lock ended");
  });
  const held = once(holder.stdout ?? holder, "data", { signal });
  // Whichever comes second is of no interest, and must not count as unhandled.
  ended.catch(() => undefined);
  held.catch(() => undefined);
  await Promise.race([held, ended]);
}
