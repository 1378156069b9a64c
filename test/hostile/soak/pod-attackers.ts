import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createPod, podsPath } from "../../cluster/support/cluster-pods.ts";
import type { ClusterWorld } from "../../cluster/support/cluster-world.ts";
import { Attack } from "./attack.ts";
import { hostilePods, hostileSecret } from "./hostile-pods.ts";
import { HungFileSystem } from "./hung-file-system.ts";

const churnMs = 15_000;
const manifestMs = 5_000;

/** Pods that do what froze or killed agents, made again and again, and manifests that cannot be read. */
export class PodAttackers implements AsyncDisposable {
  readonly #world: ClusterWorld;
  readonly #hungPath: string;
  readonly #attacks: Attack[] = [];
  readonly #mounted = new Map<string, HungFileSystem>();
  #created = 0;

  constructor(world: ClusterWorld, hungPath: string) {
    this.#world = world;
    this.#hungPath = hungPath;
  }

  async start(): Promise<void> {
    await this.#world.api.create("/api/v1/namespaces/default/secrets", hostileSecret);
    this.#attacks.push(
      new Attack("pod rounds", churnMs, () => this.#round()),
      new Attack("manifests", manifestMs, () => this.#putManifests()),
    );
  }

  summary(): string {
    const rounds = this.#attacks.map((attack) => attack.summary());
    return `${this.#created} hostile pods, ${rounds.join(", ")}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const attack of this.#attacks) await attack[Symbol.asyncDispose]();
    for (const hung of this.#mounted.values()) await hung[Symbol.asyncDispose]();
  }

  /** Makes every pod that is not there, and removes some of those that are. */
  async #round(): Promise<void> {
    const { api, node } = this.#world;
    for (const [name, spec] of hostilePods(dirname(this.#hungPath))) {
      try {
        const { metadata } = await createPod(api, name, { spec: { ...spec, nodeName: node.name } });
        this.#created += 1;
        if (name === "hung-scratch") void this.#hangInside(metadata.uid);
      } catch {
        // It is still there: half of the time it has to go, so that its end is tried too.
        if (Math.random() < 0.5) await api.delete(`${podsPath}/${name}`).catch(() => undefined);
      }
    }
  }

  /** As a privileged pod could: a file system that never answers, in the middle of an emptyDir. */
  async #hangInside(uid: string): Promise<void> {
    const { node } = this.#world;
    const folder = join(node.rootDir, "pods", uid, "volumes/kubernetes.io~empty-dir/data/hung");
    mkdirSync(folder, { recursive: true });
    this.#mounted.set(folder, await HungFileSystem.mount(folder));
  }

  async #putManifests(): Promise<void> {
    const { manifests, folder } = this.#world.node;
    const texts: Readonly<Record<string, string>> = {
      "deep.yaml": `a: ${"[".repeat(3_000)}`,
      "deep.json": `{"a":${"[".repeat(100_000)}`,
      "aliases.yaml": aliases(),
      "long.yaml": `a: ${"x ".repeat(1_000_000)}`,
      "bytes.yaml": Buffer.alloc(100_000, 0xff).toString("latin1"),
    };
    for (const [name, text] of Object.entries(texts)) {
      const draft = join(folder, `${name}.draft`);
      writeFileSync(draft, text);
      renameSync(draft, join(manifests, name));
    }
    // A folder in the way and a link that leads nowhere.
    execFileSync("ln", ["-sfn", "/nowhere", join(manifests, "link.yaml")]);
  }
}

/** Nine levels of nine references each: 400 million values when they are expanded. */
function aliases(): string {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < 9; level += 1) {
    const items = Array.from({ length: 9 }, () => `*a${level - 1}`).join(", ");
    lines.push(`a${level}: &a${level} [${items}]`);
  }
  return lines.join("\n");
}
