// The manifest folder of a node that a program fills: one file for each object.
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ManifestObject,
  objectFileName,
  podOfFile,
  splitManifest,
} from "../app/manifest-objects.ts";
import type { AgentClient } from "../cli/agent-client.ts";
import { placedProblemText } from "../cli/output/problem-text.ts";
import { sleep, timeoutSignal } from "../lib/timers.ts";
import type { ManifestText } from "../model/manifest/manifest-text.ts";
import { type Pod, podKey } from "../model/pod.ts";
import type { SourceProblem } from "../ports/pod-source.ts";
import { BerthError } from "./berth-error.ts";

export interface NodeManifestsDeps {
  readonly folder: string;
  readonly nodeName: string;
  readonly client: AgentClient;
  /** Why this kind of node would refuse a pod. */
  readonly problemsOf: (pod: Pod) => readonly SourceProblem[];
}

const lookMs = 20;
const forgetMs = 2_000;
const fileMode = 0o600;

export class NodeManifests {
  readonly #deps: NodeManifestsDeps;
  /** One change after the other: of two at once none would know what was there before. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: NodeManifestsDeps) {
    this.#deps = deps;
  }

  /** The objects of these manifests; a manifest with anything wrong in it is refused as a whole. */
  read(manifests: readonly ManifestText[]): readonly ManifestObject[] {
    const problems: SourceProblem[] = [];
    const objects = manifests.flatMap((manifest) => {
      const split = splitManifest(manifest, this.#deps.nodeName);
      if (!split.ok) problems.push(...split.error);
      return split.ok ? split.value : [];
    });
    if (problems.length > 0) throw refusal(problems);
    const doubled = objects.find(({ fileName }, index) =>
      objects.slice(0, index).some((earlier) => earlier.fileName === fileName),
    );
    if (doubled === undefined) return objects;
    const [kind, ...name] = doubled.fileName.replace(/\.json$/, "").split("_");
    throw new BerthError("invalid-manifest", `two manifests define the ${kind} ${name.join("/")}`);
  }

  /** Resolves to the pods of these objects once the node has taken them; what it refuses is as it was before. */
  apply(objects: readonly ManifestObject[], signal: AbortSignal): Promise<readonly Pod[]> {
    return this.#inTurn(async () => {
      const { folder, nodeName, problemsOf } = this.#deps;
      const pods = objects.flatMap(({ fileName, text }) => {
        const pod = podOfFile({ path: join(folder, fileName), text }, nodeName);
        return pod ?? [];
      });
      const problems = pods.flatMap((pod) => problemsOf(pod));
      if (problems.length > 0) throw refusal(problems);
      const before = new Map<string, string | undefined>();
      // Pods may refer to the others.
      const inOrder = objects.toSorted((a, b) => Number(a.isPod) - Number(b.isPod));
      try {
        for (const { fileName, text } of inOrder) {
          const textBefore = await this.#textOf(fileName);
          await this.#write(fileName, text);
          before.set(fileName, textBefore);
        }
        await this.#untilTaken(objects, pods, signal);
      } catch (error) {
        for (const [fileName, text] of before) {
          await (text === undefined ? this.#remove(fileName) : this.#write(fileName, text));
        }
        await this.#untilForgotten(objects, pods);
        throw error;
      }
      return pods;
    });
  }

  remove(objects: readonly Pick<ManifestObject, "fileName">[]): Promise<void> {
    return this.#inTurn(async () => {
      for (const { fileName } of objects) await this.#remove(fileName);
    });
  }

  /** `name`: as in the manifest. */
  async removePod(namespace: string, name: string): Promise<void> {
    await this.remove([{ fileName: objectFileName({ kind: "Pod", namespace, name }) }]);
  }

  async #untilTaken(
    objects: readonly ManifestObject[],
    pods: readonly Pod[],
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#deps;
    for (;;) {
      const ours = await this.#problemsWith(objects, pods, signal);
      if (ours.length > 0) throw refusal(ours);
      const { items } = await client.listPods(undefined, {}, signal);
      const wanted = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      const known = new Set(wanted.map(({ metadata }) => metadata.uid));
      if (pods.every(({ metadata }) => known.has(metadata.uid))) return;
      await sleep(lookMs, signal);
    }
  }

  /** What the node said of these objects would be taken for what it says of the next ones of their names. */
  async #untilForgotten(objects: readonly ManifestObject[], pods: readonly Pod[]): Promise<void> {
    const signal = timeoutSignal(forgetMs);
    try {
      while ((await this.#problemsWith(objects, pods, signal)).length > 0) {
        await sleep(lookMs, signal);
      }
    } catch {
      // What was there before may be wrong too, and the node may have ended.
    }
  }

  async #problemsWith(
    objects: readonly ManifestObject[],
    pods: readonly Pod[],
    signal: AbortSignal,
  ): Promise<readonly SourceProblem[]> {
    const { client, folder } = this.#deps;
    const paths = new Set(objects.map(({ fileName }) => join(folder, fileName)));
    const names = new Set(pods.map((pod) => `pod ${podKey(pod)}`));
    const { problems } = await client.listProblems(signal);
    return problems.filter(({ origin }) => paths.has(origin) || names.has(origin));
  }

  async #textOf(fileName: string): Promise<string | undefined> {
    return readFile(join(this.#deps.folder, fileName), "utf8").catch(() => undefined);
  }

  /** In one step: the node never sees half a file. */
  async #write(fileName: string, text: string): Promise<void> {
    const draft = join(this.#deps.folder, `.${fileName}.draft`);
    try {
      await writeFile(draft, text, { mode: fileMode });
      await rename(draft, join(this.#deps.folder, fileName));
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async #remove(fileName: string): Promise<void> {
    await rm(join(this.#deps.folder, fileName), { force: true });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

function refusal(problems: readonly SourceProblem[]): BerthError {
  return new BerthError("invalid-manifest", problems.map(placedProblemText).join("\n"));
}
