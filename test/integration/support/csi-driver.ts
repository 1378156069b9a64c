import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { clusterProgram } from "../../cluster/support/cluster-programs.ts";
import { eventually } from "../../cluster/support/eventually.ts";
import { ServerProcess } from "../../cluster/support/server-process.ts";
import { loopDevicesOf } from "./loop-devices.ts";
import { removeFolder } from "./remove-folder.ts";
import { makeTestFolder } from "./test-folder.ts";

interface CsiDriverOptions {
  /** What NodeGetInfo answers. */
  readonly nodeId?: string;
  /** Registers with the kubelet that has this root folder. */
  readonly kubeletRoot?: string;
  /** Attaches, provisions and expands what this cluster asks for. */
  readonly kubeconfig?: string;
  /** More flags of tools/cluster/csi-driver, such as `--attach=false`. */
  readonly flags?: readonly string[];
}

/** What is done to calls: see tools/cluster/csi-driver/control.go. */
export interface CsiRule {
  readonly method?: string;
  readonly volumeId?: string;
  /** After the work was done, rather than before or instead of it. */
  readonly afterwards?: boolean;
  readonly delayMs?: number;
  /** Until the caller gives up or the rules are replaced. */
  readonly hang?: boolean;
  readonly die?: boolean;
  /** A code of gRPC, such as Unavailable. */
  readonly code?: string;
  readonly message?: string;
  /** Merged into what the driver answers. */
  readonly answer?: object;
  /** How many calls; all of them without. */
  readonly times?: number;
}

/** The fields of requests that tests ask for; all others are there, too. */
interface CsiRequest {
  readonly volumeId?: string;
  readonly stagingTargetPath?: string;
  readonly targetPath?: string;
  readonly volumePath?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly volumeContext?: Readonly<Record<string, string>>;
  readonly publishContext?: Readonly<Record<string, string>>;
  readonly pluginRegistered?: boolean;
  readonly error?: string;
}

/** A call that the driver got. One that has no code is under way, or the driver died during it. */
export interface CsiCall {
  readonly process: number;
  readonly number: number;
  readonly method: string;
  readonly request: CsiRequest;
  readonly beganAtMs: number;
  readonly code?: string;
  readonly message?: string;
  readonly response?: object;
  readonly endedAtMs?: number;
}

let drivers = 0;

/** The CSI driver of tools/cluster/csi-driver with a name and a folder of its own. Its volumes outlive its process. */
export class CsiDriver implements AsyncDisposable {
  readonly name: string;
  readonly nodeId: string;
  readonly folder: string;
  readonly endpoint: string;
  readonly #options: CsiDriverOptions;
  #process: ServerProcess | undefined;

  private constructor(options: CsiDriverOptions) {
    drivers += 1;
    this.name = `csi-${process.pid}-${drivers}.berth.test`;
    this.nodeId = options.nodeId ?? "node-1";
    this.folder = makeTestFolder("csi");
    this.endpoint = join(this.folder, "csi.sock");
    this.#options = options;
  }

  /** One that others run, by its command. */
  static define(options: CsiDriverOptions = {}): CsiDriver {
    return new CsiDriver(options);
  }

  static async start(options: CsiDriverOptions = {}): Promise<CsiDriver> {
    const driver = CsiDriver.define(options);
    await driver.start();
    return driver;
  }

  get registrationSocket(): string | undefined {
    const { kubeletRoot } = this.#options;
    return kubeletRoot && join(kubeletRoot, "plugins_registry", `${this.name}-reg.sock`);
  }

  get isRunning(): boolean {
    return this.#process?.isRunning ?? false;
  }

  get command(): readonly [string, ...string[]] {
    const { kubeconfig, flags = [] } = this.#options;
    const values = {
      name: this.name,
      "node-id": this.nodeId,
      data: this.folder,
      endpoint: this.endpoint,
      control: this.#controlSocket,
      registration: this.registrationSocket,
      kubeconfig,
    };
    const given = Object.entries(values).filter(([, value]) => value !== undefined);
    const args = given.map(([key, value]) => `--${key}=${value}`);
    return [clusterProgram("csi-driver"), ...args, ...flags];
  }

  /** Again, after it was stopped or killed; the rules hold from its first call. Resolves when it answers. */
  async start(rules: readonly CsiRule[] = []): Promise<void> {
    const command = [...this.command, `--rules=${JSON.stringify(rules)}`] as const;
    const started = new ServerProcess(command, join(this.folder, "log"));
    this.#process = started;
    // The log is also that of the processes before. One that has answered may have died by a rule since.
    const isReady = (words: string): boolean => words.split("\n").includes(`ready ${started.pid}`);
    await eventually(async () => {
      const { isRunning } = started;
      const words = started.lastWords();
      return isRunning || isReady(words) ? words : fail(words);
    }, isReady);
  }

  /** As a driver that is removed: its registration goes with it. */
  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  /** As a driver that dies: its sockets stay, and what it was doing is half done. */
  async kill(): Promise<void> {
    await this.#process?.stop("SIGKILL");
  }

  /** Resolves when it has died by a rule. */
  async ended(): Promise<void> {
    await this.#process?.ended;
  }

  /** Replaces all rules; calls that hang by them go on. */
  setRules(rules: readonly CsiRule[]): Promise<void> {
    return this.#send("PUT", "/rules", rules);
  }

  /** A volume that a test names, as an administrator would have made it. */
  createVolume(volumeId: string, capacityBytes?: number): Promise<void> {
    return this.#send("POST", "/volumes", { volumeId, name: volumeId, capacityBytes });
  }

  /** Of every process of this driver, in the order in which they began. */
  calls(method?: string): readonly CsiCall[] {
    const found = new Map<string, CsiCall>();
    const file = join(this.folder, "calls.jsonl");
    if (!existsSync(file)) return [];
    for (const line of readFileSync(file, "utf8").split("\n")) {
      if (line === "") continue;
      const part = JSON.parse(line) as CsiCall;
      const key = `${part.process} ${part.number}`;
      found.set(key, { ...found.get(key), ...part });
    }
    return [...found.values()].filter((call) => method === undefined || call.method === method);
  }

  /** What it has of the machine: loop devices, and mounts in its own folder. */
  leftovers(): readonly string[] {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    return [...loopDevicesOf(this.folder), ...mounts.filter((line) => line.includes(this.folder))];
  }

  lastWords(): string {
    return this.#process?.lastWords() ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) await this.kill();
    await removeFolder(this.folder);
  }

  get #controlSocket(): string {
    return join(this.folder, "control.sock");
  }

  async #send(method: string, path: string, body: unknown): Promise<void> {
    const sent = request({ socketPath: this.#controlSocket, method, path });
    sent.end(JSON.stringify(body));
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const words = await text(response);
    if (response.statusCode !== 200) throw new Error(`${method} ${path}: ${words}`);
  }
}

function fail(words: string): never {
  throw new Error(`the CSI driver has ended: ${words}`);
}
