import { DeviceProgram } from "./device-program.ts";

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
  readonly allocations: (readonly string[])[];
  readonly #program: DeviceProgram;

  private constructor(program: DeviceProgram, allocations: (readonly string[])[]) {
    this.#program = program;
    this.allocations = allocations;
  }

  /** Resolves when it has registered. */
  static async start(options: DevicePluginOptions): Promise<DevicePlugin> {
    const { folder, resource = "example.com/device", devices = ["a", "b"], flags = [] } = options;
    plugins += 1;
    const socket = `--socket=plugin-${process.pid}-${plugins}.sock`;
    const args = [`--folder=${folder}`, socket, `--resource=${resource}`];
    const allocations: (readonly string[])[] = [];
    const program = await DeviceProgram.start(
      ["plugin", ...args, `--devices=${devices.join()}`, ...flags],
      (line) => allocations.push(...allocatedIds(line)),
    );
    return new DevicePlugin(program, allocations);
  }

  setHealth(id: string, health: "Healthy" | "Unhealthy"): void {
    this.#program.send(`health ${id} ${health}`);
  }

  removeDevice(id: string): void {
    this.#program.send(`remove ${id}`);
  }

  /** What Allocate answers from now on; undefined: what was asked for. */
  failAllocate(text: string | undefined): void {
    this.#program.send(`fail ${text ?? ""}`);
  }

  /** Allocate is not answered until `goOn`. */
  hang(): void {
    this.#program.send("hang");
  }

  goOn(): void {
    this.#program.send("go");
  }

  /** As a plugin that is removed: its socket goes with it. */
  async stop(): Promise<void> {
    await this.#program.end("SIGTERM");
  }

  /** As one that dies: its socket stays. */
  async kill(): Promise<void> {
    await this.#program.end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** The device IDs of each container of a request. */
function allocatedIds(line: string): (readonly string[])[] {
  const { container_requests: requests } = JSON.parse(line) as {
    readonly container_requests: readonly { readonly devices_ids: readonly string[] }[];
  };
  return requests.map(({ devices_ids: ids }) => ids);
}
