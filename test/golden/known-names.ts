import { recordedRegistry } from "./images.ts";
import { at, isObject, listAt, textAt } from "./json-path.ts";
import type { Json } from "./recording.ts";
import type { TracedCall } from "./trace.ts";

/** Where a trace's machine keeps things. */
export interface TraceFolders {
  readonly data: string;
  readonly podLogs: string;
  /** Under which kubepods lies. */
  readonly cgroupRoot: string;
  /** What image names that are pulled begin with. */
  readonly registry: string;
}

interface Owner {
  /** namespace/name */
  readonly pod: string;
  /** What its symbols end with. */
  readonly uid: string;
  readonly symbol: string;
}

/**
 * What the ids, UIDs and addresses of a trace stand for. Ids become the attempt that they belong to; UIDs are
 * counted in the order in which the trace first shows them.
 */
export class KnownNames {
  readonly #owners = new Map<string, Owner>();
  readonly #addresses = new Set<string>();
  readonly #uids = new Map<string, { readonly number: number; readonly symbol: string }>();
  readonly #lastUids = new Map<string, number>();
  readonly #folders: readonly (readonly [string, string])[];

  constructor(trace: readonly TracedCall[], folders: TraceFolders) {
    this.#folders = [
      [folders.data, "/DATA"],
      [folders.podLogs, "/LOGS"],
      [`${folders.cgroupRoot}/kubepods`, "/kubepods"],
      [folders.registry, recordedRegistry],
    ];
    // An agent that starts lists both at once, and containers are known by their sandboxes.
    for (const call of trace) this.#learnSandboxes(call);
    for (const call of trace) this.#learnContainers(call);
  }

  /** The pod that a call is about: namespace/name. */
  podOf({ request }: TracedCall): string | undefined {
    const config = isObject(request) ? (request["sandbox_config"] ?? request["config"]) : undefined;
    const named = podName(config);
    if (named !== undefined) return named;
    const id = textAt(request, "container_id") || textAt(request, "pod_sandbox_id");
    return this.#owners.get(id)?.pod;
  }

  /** What the id of a container or sandbox stands for; undefined when the trace does not show it. */
  symbolOf(id: string): string | undefined {
    return this.#owners.get(id)?.symbol;
  }

  /** A request with symbols for all that differs between two machines or runs. */
  translate(value: Json): Json {
    if (typeof value === "string") return this.translateText(value);
    if (Array.isArray(value)) return value.map((element: Json) => this.translate(element));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, this.translate(inner)]),
    );
  }

  /** A text with symbols for all that differs between two machines or runs. */
  translateText(text: string): string {
    const owner = this.#owners.get(text);
    if (owner !== undefined) return owner.symbol;
    if (this.#addresses.has(text)) return "<pod IP>";
    let result = text;
    for (const [folder, symbol] of this.#folders) result = result.replaceAll(folder, symbol);
    // UIDs are parts of paths, ids never are.
    for (const [uid, { symbol }] of this.#uids) result = result.replaceAll(uid, symbol);
    return result;
  }

  #learnContainers({ method, request, response }: TracedCall): void {
    if (method === "CreateContainer" && isObject(request)) {
      const sandbox = textAt(request, "pod_sandbox_id");
      this.#learnContainer(textAt(response, "container_id"), sandbox, request["config"]);
    }
    if (method === "ListContainers") {
      for (const item of byCreation(listAt(response, "containers"))) {
        this.#learnContainer(textAt(item, "id"), textAt(item, "pod_sandbox_id"), item);
      }
    }
  }

  #learnSandboxes({ method, request, response }: TracedCall): void {
    if (method === "RunPodSandbox" && isObject(request)) {
      this.#learnSandbox(textAt(response, "pod_sandbox_id"), request["config"]);
    }
    if (method === "ListPodSandbox") {
      for (const item of byCreation(listAt(response, "items"))) {
        this.#learnSandbox(textAt(item, "id"), item);
      }
    }
    if (method === "PodSandboxStatus") {
      const pod = podName(isObject(response) ? response["status"] : undefined);
      const ip = textAt(response, "status", "network", "ip");
      if (pod !== undefined && ip !== "") this.#addresses.add(ip);
    }
  }

  #learnSandbox(id: string, config: Json | undefined): void {
    const pod = podName(config);
    if (id === "" || pod === undefined || this.#owners.has(id)) return;
    const uid = this.#learnUid(textAt(config, "metadata", "uid"), pod);
    this.#owners.set(id, { pod, uid, symbol: `<sandbox ${attempt(config)}${uid}>` });
  }

  #learnContainer(id: string, sandbox: string, config: Json | undefined): void {
    const owner = this.#owners.get(sandbox);
    if (id === "" || owner === undefined || this.#owners.has(id)) return;
    const name = textAt(config, "metadata", "name");
    const { pod, uid } = owner;
    this.#owners.set(id, { pod, uid, symbol: `<container ${name} ${attempt(config)}${uid}>` });
  }

  /** How symbols distinguish pods that had one name after the other: nothing for the first. */
  #learnUid(uid: string, pod: string): string {
    const known = this.#uids.get(uid);
    const number = known?.number ?? 1 + (this.#lastUids.get(pod) ?? 0);
    this.#uids.set(uid, { number, symbol: `<uid ${number}>` });
    if (known === undefined) this.#lastUids.set(pod, number);
    return number === 1 ? "" : ` of uid ${number}`;
  }
}

function attempt(config: Json | undefined): number {
  return Number(at(config, "metadata", "attempt") ?? 0);
}

function podName(config: Json | undefined): string | undefined {
  const namespace = textAt(config, "metadata", "namespace");
  return namespace === "" ? undefined : `${namespace}/${textAt(config, "metadata", "name")}`;
}

function byCreation(items: readonly Json[]): readonly Json[] {
  const created = (item: Json): number => Number(isObject(item) ? item["created_at"] : 0);
  return items.toSorted((a, b) => created(a) - created(b));
}
