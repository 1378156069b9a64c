import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { clusterProgram } from "../../cluster/support/cluster-programs.ts";

interface DevicePluginOptions {
  /** The folder in which the agent serves kubelet.sock. */
  readonly folder: string;
  readonly resource?: string;
  /** IDs, each with its NUMA node if it has one: a@0. */
  readonly devices?: readonly string[];
  /** More flags of tools/cluster/device-programs, such as `--pre-start`. */
  readonly flags?: readonly string[];
}

let plugins = 0;

/** A device plugin on Kubernetes' own stub of one: tools/cluster/device-programs. */
export class DevicePlugin implements AsyncDisposable {
  /** The device IDs of each call of Allocate, in the order in which they came. */
  readonly allocations: (readonly string[])[] = [];
  readonly #child: ChildProcessWithoutNullStreams;
  #errors = "";

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (this.#errors += text));
  }

  /** Resolves when it has registered. */
  static async start(options: DevicePluginOptions): Promise<DevicePlugin> {
    const { folder, resource = "example.com/device", devices = ["a", "b"], flags = [] } = options;
    plugins += 1;
    const command = [clusterProgram("device-programs"), "plugin", `--folder=${folder}`];
    const socket = `--socket=plugin-${process.pid}-${plugins}.sock`;
    const args = [...command, socket, `--resource=${resource}`, `--devices=${devices.join()}`];
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...args, ...flags]);
    const plugin = new DevicePlugin(child);
    const lines = createInterface({ input: child.stdout });
    const ready = new Promise<void>((resolve, reject) => {
      lines.on("line", (line) => {
        if (line === "ready") resolve();
        else plugin.#note(line);
      });
      child.once("close", () =>
        reject(new Error(`the device plugin has ended: ${plugin.#errors}`)),
      );
    });
    await ready;
    return plugin;
  }

  setHealth(id: string, health: "Healthy" | "Unhealthy"): void {
    this.#send(`health ${id} ${health}`);
  }

  removeDevice(id: string): void {
    this.#send(`remove ${id}`);
  }

  /** What Allocate answers from now on; undefined: what was asked for. */
  failAllocate(text: string | undefined): void {
    this.#send(`fail ${text ?? ""}`);
  }

  /** Allocate is not answered until `goOn`. */
  hang(): void {
    this.#send("hang");
  }

  goOn(): void {
    this.#send("go");
  }

  /** As a plugin that is removed: its socket goes with it. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** As one that dies: its socket stays. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #note(line: string): void {
    const { container_requests: requests } = JSON.parse(line) as {
      readonly container_requests: readonly { readonly devices_ids: readonly string[] }[];
    };
    for (const { devices_ids: ids } of requests) this.allocations.push(ids);
  }

  #send(command: string): void {
    this.#child.stdin.write(`${command}\n`);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, "close");
    this.#child.kill(signal);
    await closed;
  }
}
