import { parseJson } from "../../../src/lib/json-parser.ts";
import type { AllowedReferences } from "../../../src/model/manifest/api-references.ts";
import { parseStaticPod } from "../../../src/model/manifest/static-pod.ts";
import { type Pod, podFullName } from "../../../src/model/pod.ts";
import type { PodSource, SourceSink, SourceSnapshot } from "../../../src/ports/pod-source.ts";
import type { PodManifest } from "./random-pod.ts";

/** A manifest folder in memory; it outlasts the agents that watch it. */
export class ManifestSource implements PodSource {
  readonly name = "file";
  readonly #nodeName: string;
  readonly #besides: Partial<SourceSnapshot> | undefined;
  readonly #pods = new Map<string, Pod>();
  readonly #manifests = new Map<string, PodManifest>();
  #sink: SourceSink | undefined;
  #isOut = false;

  /** `besides`: objects that lie beside the pods, which may refer to them. */
  constructor(nodeName: string, besides?: Partial<SourceSnapshot>) {
    this.#nodeName = nodeName;
    this.#besides = besides;
  }

  run(sink: SourceSink): Promise<void> {
    this.#sink = sink;
    this.#deliver();
    return new Promise(() => undefined);
  }

  get pods(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  /** Of two manifests with one pod name the first counts. */
  get wantedUids(): ReadonlySet<string> {
    const byName = new Map<string, string>();
    for (const pod of this.pods) {
      const name = podFullName(pod);
      if (!byName.has(name)) byName.set(name, pod.metadata.uid);
    }
    return new Set(byName.values());
  }

  get files(): readonly string[] {
    return [...this.#pods.keys()];
  }

  /** It delivers nothing while it is out, not even an error. */
  get isOut(): boolean {
    return this.#isOut;
  }

  set isOut(isOut: boolean) {
    this.#isOut = isOut;
    this.#deliver();
  }

  uidOf(file: string): string | undefined {
    return this.#pods.get(file)?.metadata.uid;
  }

  find(file: string): PodManifest | undefined {
    return this.#manifests.get(file);
  }

  write(file: string, manifest: PodManifest): Pod {
    const allowed = this.#besides === undefined ? "none" : "configMapsAndSecrets";
    const pod = parseManifest(manifest, this.#nodeName, file, allowed);
    this.#pods.set(file, pod);
    this.#manifests.set(file, manifest);
    this.#deliver();
    return pod;
  }

  remove(file: string): void {
    this.#pods.delete(file);
    this.#deliver();
  }

  #deliver(): void {
    if (this.#isOut) return;
    this.#sink?.deliver({
      pods: this.pods,
      configMaps: [],
      secrets: [],
      problems: [],
      ignored: [],
      ...this.#besides,
    });
  }
}

/** By manifest, then by what else decides: control pods are the same in all seeds, and files come back as they were. */
const parsed = new WeakMap<PodManifest, Map<string, Pod>>();

export function parseManifest(
  manifest: PodManifest,
  nodeName: string,
  file: string,
  allowedReferences: AllowedReferences = "none",
): Pod {
  const pods = parsed.get(manifest) ?? new Map<string, Pod>();
  parsed.set(manifest, pods);
  const key = `${nodeName} ${file} ${allowedReferences}`;
  const pod = pods.get(key) ?? parse(manifest, nodeName, file, allowedReferences);
  pods.set(key, pod);
  return pod;
}

/** As the agent reads it from a file. */
function parse(
  manifest: PodManifest,
  nodeName: string,
  file: string,
  allowedReferences: AllowedReferences,
): Pod {
  const node = parseJson(JSON.stringify(manifest));
  if (!node.ok) throw new Error(`the manifest is not JSON: ${node.error.message}`);
  const pod = parseStaticPod(node.value, {
    nodeName,
    origin: { kind: "file", path: `/manifests/${file}` },
    allowedReferences,
    isResizable: true,
  });
  if (!pod.ok) throw new Error(pod.error.message);
  return pod.value;
}
