import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../test/kit/silent-log.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import { takeServiceManager } from "../drivers/systemd/service-notifier.ts";
import { notifyOfAgent } from "./notify-service-manager.ts";

/** Prints what arrives at a datagram socket, which Node cannot read; `@` begins an abstract name. */
const receiver = `use Socket; $| = 1; my $path = $ARGV[0]; $path =~ s/^@/\\0/;
  my $socket; socket($socket, AF_UNIX, SOCK_DGRAM, 0) and bind($socket, pack_sockaddr_un($path)) or die $!;
  print "bound\\n"; while (defined recv($socket, my $text, 4096, 0)) { print "$text\\n" }`;

let folder: string;
let systemd: ChildProcess | undefined;
let received = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-notify-"));
});
afterEach(async () => {
  if (systemd !== undefined) {
    const closed = once(systemd, "close");
    systemd.kill("SIGKILL");
    await closed;
  }
  systemd = undefined;
  rmSync(folder, { recursive: true });
});

async function listen(socket: string): Promise<void> {
  received = "";
  systemd = spawn("perl", ["-e", receiver, socket], { stdio: ["ignore", "pipe", "inherit"] });
  systemd.stdout?.setEncoding("utf8").on("data", (text: string) => {
    received += text;
  });
  await expect.poll(() => received, { timeout: 20_000 }).toBe("bound\n");
}

/** What was sent, without what the program adds to see it received. */
const messages = (): readonly string[] => {
  const lines = received.trim().split("\n").slice(1);
  return lines.filter((line) => line !== "BARRIER=1");
};
const beats = (): number => messages().filter((text) => text === "WATCHDOG=1").length;

test.each(["path", "abstract"])(
  "systemd is notified at a socket with an %s name that the agent serves, makes progress and stops",
  async (kind) => {
    const socket = kind === "path" ? join(folder, "notify") : `@berth-test-${process.pid}`;
    await listen(socket);
    const environment = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "600000", OTHER: "stays" };
    const manager = takeServiceManager(environment, process.pid);
    expect(environment).toEqual({ OTHER: "stays" });
    if (manager === undefined) throw new Error("no service manager");
    const end = new AbortController();
    const agent = { isServing: false, lastTurnMs: systemClock.monotonicMs() };
    const notified = notifyOfAgent(
      manager,
      { agent, clock: systemClock, log: silentLog },
      end.signal,
    );
    agent.isServing = true;
    await expect.poll(() => messages()[0], { timeout: 20_000 }).toBe("READY=1");
    await expect
      .poll(
        () => {
          agent.lastTurnMs = systemClock.monotonicMs();
          return beats();
        },
        { timeout: 20_000 },
      )
      .toBeGreaterThan(2);
    end.abort();
    await notified;
    await expect.poll(() => messages().at(-1), { timeout: 20_000 }).toBe("STOPPING=1");
  },
);

test("a loop that stands still stops beating", async () => {
  await listen(join(folder, "notify"));
  const manager = { socket: join(folder, "notify"), watchdogMs: 300 };
  const end = new AbortController();
  const agent = { isServing: true, lastTurnMs: systemClock.monotonicMs() };
  let asked = 0;
  const standing = {
    isServing: true,
    get lastTurnMs() {
      asked++;
      return agent.lastTurnMs;
    },
  };
  const deps = { agent: standing, clock: systemClock, log: silentLog };
  const notified = notifyOfAgent(manager, deps, end.signal);
  await expect.poll(() => asked, { timeout: 20_000 }).toBeGreaterThan(12);
  end.abort();
  await notified;
  await expect.poll(() => messages().at(-1), { timeout: 20_000 }).toBe("STOPPING=1");
  // It beat while the last turn was new, and no more after that.
  expect(beats()).toBeLessThan(6);
});

test("only the process that is watched sends signs of life", () => {
  const given = { NOTIFY_SOCKET: "/run/x", WATCHDOG_USEC: "1000000" };
  expect(takeServiceManager({ ...given, WATCHDOG_PID: "7" }, 7)?.watchdogMs).toBe(1000);
  expect(takeServiceManager({ ...given, WATCHDOG_PID: "8" }, 7)?.watchdogMs).toBeUndefined();
  expect(takeServiceManager({}, 7)).toBeUndefined();
});
