import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BerthProcess, buildProgram, type Ended } from "../../integration/support/agent-process.ts";
import { makeTestFolder } from "../../integration/support/test-folder.ts";

export interface SimPod {
  readonly name: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly image?: string;
}

/** A simulated node with a page: `berth sim --ui`. */
export class SimNode {
  readonly folder: string;
  readonly #manifests: string;
  readonly #dataDir: string;
  #agent: BerthProcess | undefined;
  #address = "127.0.0.1:0";

  private constructor(folder: string) {
    this.folder = folder;
    this.#manifests = join(folder, "pods");
    this.#dataDir = join(folder, "d");
    mkdirSync(this.#manifests);
  }

  static async start(pods: readonly SimPod[], ...args: readonly string[]): Promise<SimNode> {
    buildProgram();
    const node = new SimNode(makeTestFolder("page"));
    for (const pod of pods) node.write(pod);
    try {
      await node.up(...args);
    } catch (error) {
      await node.close();
      throw error;
    }
    return node;
  }

  /** Of the page, such as http://127.0.0.1:40123 */
  get origin(): string {
    return `http://${this.#address}`;
  }

  /** Starts the agent, at the address of the one before it; resolves when its page is served. */
  async up(...args: readonly string[]): Promise<void> {
    const files = ["-f", this.#manifests, "--data-dir", this.#dataDir];
    const name = ["--node-name", "edge-1"];
    this.#agent = new BerthProcess(["sim", ...files, ...name, `--ui=${this.#address}`, ...args]);
    await this.#agent.untilPrinted(({ stderr }) => stderr.includes("the page is served"));
    this.#address = new URL(await this.login()).host;
  }

  async down(): Promise<void> {
    await this.#agent?.stop("SIGKILL");
  }

  write({ name, image = "example.com/app:1", ...metadata }: SimPod): void {
    const resources = { requests: { cpu: "10m", memory: "16Mi" } };
    const spec = { containers: [{ name: "main", image, resources }] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name, ...metadata }, spec };
    writeFileSync(join(this.#manifests, `${name}.json`), JSON.stringify(pod));
  }

  /** An address of `berth ui`: it logs one browser in. */
  async login(): Promise<string> {
    const { code, stdout, stderr } = await this.berth("ui", "--print");
    if (code !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  berth(...args: readonly string[]): Promise<Ended> {
    return new BerthProcess([...args, "--data-dir", this.#dataDir]).ended;
  }

  async close(): Promise<void> {
    await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
