import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DeviceProgram } from "./device-program.ts";

interface DraDriverOptions {
  /** The kubelet's, in which the driver has its folder of plugins. */
  readonly kubeletRoot: string;
  readonly kubeconfig: string;
  readonly nodeName: string;
  readonly cdiFolder: string;
  /** More flags of tools/cluster/device-programs, such as `--devices=2`. */
  readonly flags?: readonly string[];
}

type DraMethod = "NodePrepareResources" | "NodeUnprepareResources";

/** A call that the driver got, when it began and again when it ended. */
interface DraCall {
  readonly service: string;
  readonly method: DraMethod;
  readonly state: "begun" | "ended";
  readonly claims:
    | readonly { readonly namespace: string; readonly name: string; readonly uid: string }[]
    | null;
  readonly error: string;
}

let drivers = 0;

/** The DRA driver of Kubernetes' own tests: tools/cluster/device-programs. Its devices are device-00 and on. */
export class DraDriver implements AsyncDisposable {
  readonly name: string;
  readonly calls: DraCall[] = [];
  readonly #options: DraDriverOptions;
  #program: DeviceProgram | undefined;

  private constructor(options: DraDriverOptions) {
    drivers += 1;
    this.name = `dra-${process.pid}-${drivers}.berth.test`;
    this.#options = options;
  }

  static async start(options: DraDriverOptions): Promise<DraDriver> {
    const driver = new DraDriver(options);
    await driver.start();
    return driver;
  }

  get endpoint(): string {
    return join(this.#options.kubeletRoot, "plugins", this.name, "dra.sock");
  }

  /** Of the names of the claims of each call of a method that has ended. */
  ended(method: DraMethod): (readonly string[])[] {
    return this.calls
      .filter((call) => call.method === method && call.state === "ended")
      .map(({ claims }) => (claims ?? []).map(({ name }) => name));
  }

  /** Again, after it was stopped or killed. Resolves when it serves. */
  async start(): Promise<void> {
    const { kubeletRoot, kubeconfig, nodeName, cdiFolder, flags = [] } = this.#options;
    const values = {
      folder: kubeletRoot,
      driver: this.name,
      node: nodeName,
      kubeconfig,
      cdi: cdiFolder,
    };
    const args = Object.entries(values).map(([key, value]) => `--${key}=${value}`);
    this.#program = await DeviceProgram.start(["dra", ...args, ...flags], (line) =>
      this.calls.push(JSON.parse(line) as DraCall),
    );
  }

  setHealth(device: string, health: "Healthy" | "Unhealthy", message: string): void {
    this.#program?.send(`health ${device} ${health} ${message}`);
  }

  /** What calls of the method answer from now on; undefined: what was asked for. */
  fail(method: DraMethod, text: string | undefined): void {
    this.#program?.send(`fail ${method} ${text ?? ""}`);
  }

  /** Calls of the method are not answered until `goOn`. */
  hang(method: DraMethod): void {
    this.#program?.send(`hang ${method}`);
  }

  goOn(method: DraMethod): void {
    this.#program?.send(`go ${method}`);
  }

  /** As a driver that is removed: its sockets go with it. */
  async stop(): Promise<void> {
    await this.#program?.end("SIGTERM");
  }

  /** As one that dies: its sockets stay. */
  async kill(): Promise<void> {
    await this.#program?.end("SIGKILL");
  }

  /** The CDI specs of what it has prepared. */
  specs(): readonly string[] {
    return readdirSync(this.#options.cdiFolder).filter((name) => name.startsWith(`${this.name}-`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    for (const spec of this.specs()) rmSync(join(this.#options.cdiFolder, spec));
  }
}
