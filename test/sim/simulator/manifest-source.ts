import { parseJson } from "../../../src/model/manifest/json-parser.ts";
import { parseStaticPod } from "../../../src/model/manifest/static-pod.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { PodSource, SourceSink } from "../../../src/ports/pod-source.ts";
import type { PodManifest } from "./random-pod.ts";

/** A manifest folder in memory; it outlasts the agents that watch it. */
export class ManifestSource implements PodSource {
  readonly name = "file";
  readonly #nodeName: string;
  readonly #pods = new Map<string, Pod>();
  #sink: SourceSink | undefined;

  constructor(nodeName: string) {
    this.#nodeName = nodeName;
  }

  run(sink: SourceSink): Promise<void> {
    this.#sink = sink;
    this.#deliver();
    return new Promise(() => undefined);
  }

  get pods(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  get files(): readonly string[] {
    return [...this.#pods.keys()];
  }

  write(file: string, manifest: PodManifest): Pod {
    const node = parseJson(JSON.stringify(manifest));
    if (!node.ok) throw new Error(`the manifest is no JSON: ${node.error.message}`);
    const pod = parseStaticPod(node.value, {
      nodeName: this.#nodeName,
      origin: { kind: "file", path: `/manifests/${file}` },
      allowedReferences: "none",
    });
    if (!pod.ok) throw new Error(pod.error.message);
    this.#pods.set(file, pod.value);
    this.#deliver();
    return pod.value;
  }

  remove(file: string): void {
    this.#pods.delete(file);
    this.#deliver();
  }

  #deliver(): void {
    this.#sink?.deliver({
      pods: this.pods,
      configMaps: [],
      secrets: [],
      problems: [],
      ignored: [],
    });
  }
}
