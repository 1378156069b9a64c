import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A network of its own with nothing in it but loopback; it ends with the test, also when that is killed. */
export class NetworkNamespace {
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  static async start(): Promise<NetworkNamespace> {
    const command = ["--net", "setpriv", "--pdeathsig", "KILL", "--", "sleep", "infinity"];
    const holder = spawn("unshare", command, { stdio: "ignore" });
    await once(holder, "spawn");
    const outside = readlinkSync("/proc/self/ns/net");
    while (readlinkSync(`/proc/${holder.pid}/ns/net`) === outside) await delay(5);
    const namespace = new NetworkNamespace(holder);
    namespace.run("ip", "link", "set", "lo", "up");
    return namespace;
  }

  get pid(): number {
    return this.#holder.pid ?? 0;
  }

  /** The start of a command line that runs the rest inside. */
  get enter(): readonly [string, ...string[]] {
    return ["nsenter", `--target=${this.pid}`, "--net", "--"];
  }

  /** What a command prints inside. */
  run(...command: readonly string[]): string {
    const [program, ...args] = this.enter;
    return execFileSync(program, [...args, ...command], { encoding: "utf8", timeout: 60_000 });
  }

  /** Sets a kernel setting of the network. */
  set(path: string, value: string): void {
    this.run("sh", "-c", `echo ${value} > /proc/sys/net/${path}`);
  }

  /** The rules of a table, as `iptables -S` shows them. */
  rules(table: string, program = "iptables"): readonly string[] {
    return this.run(program, "-w", "-t", table, "-S")
      .split("\n")
      .filter((line) => line !== "");
  }

  /** An iptables, with an ip6tables beside it, that works inside from the outside. */
  iptablesIn(folder: string): string {
    for (const name of ["iptables", "ip6tables"]) {
      const script = `#!/bin/sh\nexec ${this.enter.join(" ")} ${name} "$@"\n`;
      writeFileSync(join(folder, name), script, { mode: 0o755 });
    }
    return join(folder, "iptables");
  }

  /** Joins it to another one by a cable, veth0 at both ends. */
  connect(other: NetworkNamespace, address: string, otherAddress: string): void {
    const peer = ["peer", "name", "veth0", "netns", String(other.pid)];
    this.run("ip", "link", "add", "veth0", "type", "veth", ...peer);
    for (const [side, cidr] of [
      [this, address],
      [other, otherAddress],
    ] as const) {
      side.run("ip", "address", "add", `${cidr}/24`, "dev", "veth0");
      side.run("ip", "link", "set", "veth0", "up");
    }
  }

  async close(): Promise<void> {
    const exited = once(this.#holder, "exit");
    this.#holder.kill("SIGKILL");
    await exited;
  }
}
