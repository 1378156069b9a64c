import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { vi } from "vitest";
import { ensureImages } from "../../../src/drivers/containerd/local-images.ts";
import { createCriRuntime } from "../../../src/drivers/cri/cri-runtime.ts";
import type { PodSpec } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { busyboxImage } from "../../../tools/images/busybox-image.ts";
import { podManifest, shell, untilStopped } from "./agent-manifests.ts";
import type { DebianRoot } from "./debian-root.ts";

const imagesTimeoutMs = 60_000;
const patience = { timeout: 120_000, interval: 100 };

/** `berth up` as a package has put it onto a clean Debian, with a page. */
export class PackagedAgent {
  readonly #root: DebianRoot;
  readonly #manifests: string;
  #agent: ChildProcess | undefined;

  constructor(root: DebianRoot, manifests: string) {
    this.#root = root;
    this.#manifests = manifests;
  }

  /** Starts the agent, and gives its containerd the images of the tests. */
  async start(): Promise<void> {
    const where = ["--filename", this.#manifests, "--cgroup-root", "/berth-debian"];
    this.#root.makeFolder(this.#manifests);
    this.#agent = this.#root.start("berth", "up", ...where, "--bridge", "berth-debian", "--ui");
    const socket = this.#root.pathOf("/var/lib/berth/containerd/containerd.sock");
    await vi.waitUntil(() => existsSync(socket), patience);
    const images = createCriRuntime(socket);
    const signal = AbortSignal.timeout(imagesTimeoutMs);
    await ensureImages({ images, ctr: "ctr", socket }, [busyboxImage("latest")], signal);
    images.close();
  }

  /** Ends the agent as systemd does; its pods go on. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#agent?.once("close", resolve));
    await this.succeed("pkill", "--oldest", "--full", "berth up --filename");
    await ended;
  }

  /** Resolves to its name here when it is ready. */
  async runPod(name: string, spec: Partial<PodSpec> = {}): Promise<string> {
    const containers = [shell("main", `echo started; ${untilStopped}`)];
    const manifest = podManifest(name, { containers, ...spec });
    this.#root.write(`${this.#manifests}/${name}.json`, manifest);
    await vi.waitUntil(async () => (await this.containerOf(name)) !== undefined, patience);
    return (await this.pod(name))?.metadata.name ?? name;
  }

  /** The container of a pod that is ready. */
  async containerOf(name: string): Promise<string | undefined> {
    const statuses = (await this.pod(name))?.status?.containerStatuses;
    return statuses?.find(({ ready }) => ready)?.containerID;
  }

  async pod(name: string): Promise<Pod | undefined> {
    const { code, stdout } = await this.#root.run("berth", "get", "pods", "-o", "json");
    if (code !== 0) return undefined;
    const { items }: { readonly items: readonly Pod[] } = JSON.parse(stdout);
    return items.find(({ metadata }) => metadata.name?.startsWith(`${name}-`));
  }

  async succeed(...command: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#root.run(...command);
    if (code !== 0) throw new Error(`${command.join(" ")} exited with ${code}: ${stderr}`);
    return stdout;
  }

  /** What a server of the loopback address answers. A clean Debian has no client but its shell. */
  ask(port: number, path: string): Promise<string> {
    const request = `GET ${path} HTTP/1.0\\r\\nHost: 127.0.0.1:${port}\\r\\n\\r\\n`;
    const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf '${request}' >&3; cat <&3`;
    return this.succeed("bash", "-c", script);
  }
}
