import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Ended } from "./agent-process.ts";

// The first process must also reap orphans.
const firstProcess = [
  "ip link set lo up",
  "mkdir -p /var/lib/cni && mount -t tmpfs tmpfs /var/lib/cni && mkdir /var/lib/cni/results",
  "echo ready",
  "while true; do sleep 3600 & wait; done",
].join("\n");

/**
 * Processes, mounts and network of its own on this machine, so that what a program leaves there is apart
 * from what others do meanwhile.
 */
export class PrivateMachine {
  readonly #unshare: ChildProcess;
  /** The first process inside, as it is called outside. */
  readonly #pid: number;

  private constructor(unshare: ChildProcess, pid: number) {
    this.#unshare = unshare;
    this.#pid = pid;
  }

  static async start(): Promise<PrivateMachine> {
    const flags = ["--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"];
    const unshare = spawn("unshare", [...flags, "sh", "-c", firstProcess], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ready = await Promise.race([once(unshare.stdout, "data"), once(unshare, "exit")]);
    if (unshare.exitCode !== null) throw new Error(`unshare failed: ${String(ready[0])}`);
    const children = readFileSync(`/proc/${unshare.pid}/task/${unshare.pid}/children`, "utf8");
    return new PrivateMachine(unshare, Number(children.trim()));
  }

  /** Runs a command inside to its end. */
  async run(folder: string, command: readonly string[]): Promise<Ended> {
    const place = [...this.#enter("--pid", "--mount"), "env", `--chdir=${folder}`];
    const child = spawn("nsenter", [...place, ...command], { stdio: ["ignore", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (output.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (output.stderr += text));
    await once(child, "close");
    return { code: child.exitCode, ...output };
  }

  /** Everything that running pods could leave: what a second snapshot has more than a first is left. */
  traces(): readonly string[] {
    const pid = this.#pid;
    const rules = (table: string): readonly string[] => {
      const flags = [...this.#enter(), "iptables", "-w", "-t", table, "-S"];
      return lines(execFileSync("nsenter", flags, { encoding: "utf8" }));
    };
    const addresses = execFileSync("nsenter", [...this.#enter(), "ip", "-o", "address"]);
    return [
      ...this.#processes().map((text) => `process ${text}`),
      ...lines(readFileSync(`/proc/${pid}/mountinfo`, "utf8")).map(
        (line) => `mount ${line.split(" ")[4]}`,
      ),
      ...lines(readFileSync(`/proc/${pid}/net/dev`, "utf8")).map(
        (line) => `interface ${line.split(":")[0]?.trim()}`,
      ),
      ...lines(addresses.toString()).map((line) => `address ${line}`),
      ...["filter", "nat", "mangle"].flatMap(rules).map((line) => `rule ${line}`),
      ...names(`/proc/${pid}/root/var/lib/cni`, true).map((name) => `network state ${name}`),
      ...names("/sys/fs/cgroup")
        .flatMap((hierarchy) => names(`/sys/fs/cgroup/${hierarchy}`))
        .filter((name) => /^berth(-[0-9a-f]{8})?$/.test(name))
        .map((name) => `cgroup ${name}`),
      ...names(tmpdir())
        .filter((name) => name.startsWith("berth-demo"))
        .map((name) => `folder ${name}`),
    ];
  }

  /** Ends everything inside. */
  async close(): Promise<void> {
    this.#unshare.kill("SIGKILL");
    await once(this.#unshare, "exit");
  }

  #enter(...more: readonly string[]): readonly string[] {
    return ["--target", String(this.#pid), "--net", ...more];
  }

  /** All processes inside but the first and its sleep. */
  #processes(): readonly string[] {
    const own = readlinkSync(`/proc/${this.#pid}/ns/pid`);
    return names("/proc")
      .filter((name) => /^\d+$/.test(name) && name !== String(this.#pid))
      .flatMap((pid) => {
        try {
          if (readlinkSync(`/proc/${pid}/ns/pid`) !== own) return [];
          return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")];
        } catch {
          // Ended meanwhile.
          return [];
        }
      })
      .filter((command) => command !== "sleep 3600 ");
  }
}

function lines(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

function names(folder: string, isDeep = false): readonly string[] {
  try {
    return readdirSync(folder, { recursive: isDeep, encoding: "utf8" });
  } catch {
    return [];
  }
}
