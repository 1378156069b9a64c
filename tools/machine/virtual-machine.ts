// One boot of the guest in qemu's emulation, reached by ssh on a port of the loopback interface. Its disks are written
// to as copies that go with it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type GuestImage } from "./guest-image.ts";

const bootTimeoutMs = 600_000;
const shutdownTimeoutMs = 120_000;
const retryMs = 2000;
const swapBytes = 2 ** 30;

/** What the machine has. */
export interface Hardware {
  readonly cpus: 2 | 8;
  readonly memoryMebibytes: number;
  readonly numaNodes: 1 | 2;
  readonly hasSwap: boolean;
}

interface CommandOptions {
  readonly input?: string;
  /** Gets what it prints as it comes. */
  readonly onOutput?: (text: string) => void;
}

interface CommandEnd {
  readonly code: number | null;
  readonly stdout: string;
}

export class VirtualMachine {
  readonly #folder: string;
  readonly #qemu: ChildProcess;
  readonly #sshFlags: readonly string[];
  #connection: ChildProcess | undefined;

  private constructor(folder: string, qemu: ChildProcess, sshFlags: readonly string[]) {
    this.#folder = folder;
    this.#qemu = qemu;
    this.#sshFlags = sshFlags;
  }

  /** Boots; resolves when commands can be run. */
  static async boot(
    image: GuestImage,
    hardware: Hardware,
    workDisk: string,
    signal: AbortSignal,
  ): Promise<VirtualMachine> {
    const folder = mkdtempSync(join(tmpdir(), "berth-machine-"));
    const port = await freePort();
    const args = qemuArguments({ image, hardware, workDisk, folder, port });
    // It dies with this process, also when that is killed.
    const qemu = spawn("setpriv", ["--pdeathsig", "KILL", "--", "qemu-system-x86_64", ...args], {
      stdio: ["ignore", "inherit", "inherit"],
      // A group of its own: Ctrl-C reaches this process alone, which then shuts it down.
      detached: true,
      env: { ...process.env, TMPDIR: folder },
    });
    const machine = new VirtualMachine(folder, qemu, sshFlags(image.key, folder, port));
    try {
      await machine.#untilUp(AbortSignal.any([signal, AbortSignal.timeout(bootTimeoutMs)]));
      return machine;
    } catch (error) {
      const console = machine.readConsole().split("\n").slice(-30).join("\n");
      await machine.close();
      throw new Error(`the machine did not boot; its console:\n${console}`, { cause: error });
    }
  }

  /** What reaches it from a terminal. */
  get sshCommand(): readonly string[] {
    return ["ssh", ...this.#sshFlags];
  }

  readConsole(): string {
    return readFileSync(join(this.#folder, "console"), "utf8");
  }

  /** Runs a command to its end. */
  async run(
    command: readonly string[],
    signal: AbortSignal,
    { input = "", onOutput }: CommandOptions = {},
  ): Promise<CommandEnd> {
    const child = spawn("ssh", [...this.#sshFlags, command.map(quoted).join(" ")], {
      stdio: ["pipe", "pipe", onOutput === undefined ? "ignore" : "pipe"],
      detached: true,
      signal,
    });
    child.stdin?.end(input);
    let stdout = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      onOutput?.(text);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => onOutput?.(text));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, stdout };
  }

  /** Runs a command that must succeed; resolves with what it printed. */
  async mustRun(command: readonly string[], signal: AbortSignal, input = ""): Promise<string> {
    let output = "";
    const onOutput = (text: string): void => void (output += text);
    const { code, stdout } = await this.run(command, signal, { input, onOutput });
    if (code !== 0) throw new Error(`in the machine, ${command.join(" ")} failed:\n${output}`);
    return stdout;
  }

  /** Lets it shut down, or ends it. Safe to call again. */
  async close(): Promise<void> {
    if (this.#isRunning) {
      const timeout = AbortSignal.timeout(shutdownTimeoutMs);
      await this.run(["systemctl", "poweroff", "--force", "--force"], timeout).catch(
        () => undefined,
      );
      await Promise.race([this.#ended(), delay(5000)]);
      if (this.#isRunning) this.#qemu.kill("SIGKILL");
      await this.#ended();
    }
    this.#connection?.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #isRunning(): boolean {
    return this.#qemu.exitCode === null && this.#qemu.signalCode === null;
  }

  async #ended(): Promise<void> {
    if (this.#isRunning) await once(this.#qemu, "exit");
  }

  /** One connection stays open for all commands: to make it is what takes long in emulation. */
  async #untilUp(signal: AbortSignal): Promise<void> {
    for (;;) {
      if (!this.#isRunning) throw new Error(`qemu ended with ${this.#qemu.exitCode}`);
      if (this.#connection === undefined || this.#connection.exitCode !== null) {
        const flags = ["-N", "-o", "ControlMaster=yes", ...this.#sshFlags];
        this.#connection = spawn("ssh", flags, { stdio: "ignore", detached: true });
      }
      const check = spawn("ssh", ["-O", "check", ...this.#sshFlags], { stdio: "ignore" });
      const [code] = (await once(check, "close")) as [number | null];
      if (code === 0) return;
      await delay(retryMs, undefined, { signal });
    }
  }
}

function qemuArguments(given: {
  readonly image: GuestImage;
  readonly hardware: Hardware;
  readonly workDisk: string;
  readonly folder: string;
  readonly port: number;
}): readonly string[] {
  const { image, hardware, workDisk, folder, port } = given;
  const { cpus, memoryMebibytes, numaNodes, hasSwap } = hardware;
  const drives = [image.disk, workDisk];
  if (hasSwap) drives.push(emptyFile(join(folder, "swap"), swapBytes));
  return [
    ["-accel", "tcg,thread=multi", "-machine", "q35", "-nodefaults", "-display", "none"],
    // With what qemu 7.2 emulates of newer processors, kernels and programs crash now and then.
    ["-cpu", "Nehalem,-cx16", "-smp", String(cpus), "-m", String(memoryMebibytes)],
    numaFlags(cpus, memoryMebibytes, numaNodes),
    ...drives.flatMap((file) => [
      "-drive",
      `file=${file},if=virtio,format=raw,snapshot=on,cache=unsafe`,
    ]),
    ["-netdev", `user,id=lan,hostfwd=tcp:127.0.0.1:${port}-:22`],
    ["-device", "virtio-net-pci,netdev=lan,romfile=", "-device", "virtio-rng-pci"],
    ["-serial", `file:${join(folder, "console")}`, "-no-reboot"],
    ["-kernel", image.kernel, "-initrd", image.initrd],
    ["-append", "root=/dev/vda rw console=ttyS0 quiet mitigations=off panic=-1"],
  ].flat();
}

function numaFlags(cpus: number, memoryMebibytes: number, nodes: number): readonly string[] {
  if (nodes === 1) return [];
  const each = cpus / nodes;
  return Array.from({ length: nodes }, (_, node) => [
    "-object",
    `memory-backend-ram,id=memory${node},size=${memoryMebibytes / nodes}M`,
    "-numa",
    `node,nodeid=${node},memdev=memory${node},cpus=${node * each}-${(node + 1) * each - 1}`,
  ]).flat();
}

function sshFlags(key: string, folder: string, port: number): readonly string[] {
  const options = {
    BatchMode: "yes",
    ConnectTimeout: "60",
    ControlPath: join(folder, "ssh"),
    IdentitiesOnly: "yes",
    LogLevel: "ERROR",
    StrictHostKeyChecking: "no",
    UserKnownHostsFile: "/dev/null",
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  return ["-F", "none", "-i", key, "-p", String(port), ...flags, "root@127.0.0.1"];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

function emptyFile(path: string, bytes: number): string {
  writeFileSync(path, "");
  truncateSync(path, bytes);
  return path;
}

/** ssh hands words to a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
