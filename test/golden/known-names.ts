import { isObject, listAt, textAt } from "./json-path.ts";
import type { Json } from "./recording.ts";
import type { TracedCall } from "./trace.ts";

/** Where a trace's machine keeps things. */
export interface TraceFolders {
  readonly data: string;
  readonly podLogs: string;
  /** Under which kubepods lies. */
  readonly cgroupRoot: string;
}

interface Owner {
  /** namespace/name */
  readonly pod: string;
  readonly symbol: string;
}

/**
 * What the ids, UIDs and addresses of a trace stand for. Each becomes a symbol that counts the pod's
 * sandboxes, or a container's instances, in the order in which the trace first shows them.
 */
export class KnownNames {
  readonly #owners = new Map<string, Owner>();
  readonly #uids = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #folders: readonly (readonly [string, string])[];

  constructor(trace: readonly TracedCall[], folders: TraceFolders) {
    this.#folders = [
      [folders.data, "/DATA"],
      [folders.podLogs, "/LOGS"],
      [`${folders.cgroupRoot}/kubepods`, "/kubepods"],
    ];
    for (const call of trace) this.#learn(call);
  }

  /** The pod that a call is about: namespace/name. */
  podOf({ request }: TracedCall): string | undefined {
    const config = isObject(request) ? (request["sandbox_config"] ?? request["config"]) : undefined;
    const named = podName(config);
    if (named !== undefined) return named;
    const id = textAt(request, "container_id") || textAt(request, "pod_sandbox_id");
    return this.#owners.get(id)?.pod;
  }

  /** A request with symbols for all that differs between two machines or runs. */
  translate(value: Json): Json {
    if (typeof value === "string") return this.#translateText(value);
    if (Array.isArray(value)) return value.map((element: Json) => this.translate(element));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, this.translate(inner)]),
    );
  }

  #translateText(text: string): string {
    const owner = this.#owners.get(text);
    if (owner !== undefined) return owner.symbol;
    let result = text;
    for (const [folder, symbol] of this.#folders) result = result.replace(folder, symbol);
    // UIDs are parts of paths, ids never are.
    for (const [uid, symbol] of this.#uids) result = result.replaceAll(uid, symbol);
    return result;
  }

  #learn(call: TracedCall): void {
    const { method, request, response } = call;
    if (method === "RunPodSandbox" && isObject(request)) {
      this.#learnSandbox(textAt(response, "pod_sandbox_id"), request["config"]);
    }
    if (method === "CreateContainer" && isObject(request)) {
      const pod = podName(request["sandbox_config"]);
      const name = textAt(request, "config", "metadata", "name");
      this.#learnContainer(textAt(response, "container_id"), pod, name);
    }
    if (method === "ListPodSandbox") {
      for (const item of byCreation(listAt(response, "items"))) {
        this.#learnSandbox(textAt(item, "id"), item);
      }
    }
    if (method === "ListContainers") {
      for (const item of byCreation(listAt(response, "containers"))) {
        const pod = this.#owners.get(textAt(item, "pod_sandbox_id"))?.pod;
        this.#learnContainer(textAt(item, "id"), pod, textAt(item, "metadata", "name"));
      }
    }
    if (method === "PodSandboxStatus") {
      const pod = podName(isObject(response) ? response["status"] : undefined);
      const ip = textAt(response, "status", "network", "ip");
      if (pod !== undefined && ip !== "") this.#own(ip, pod, "<pod IP>");
    }
  }

  #learnSandbox(id: string, config: Json | undefined): void {
    const pod = podName(config);
    if (id === "" || pod === undefined || this.#owners.has(id)) return;
    this.#own(id, pod, this.#count(`${pod} sandbox`, "sandbox"));
    const uid = textAt(config, "metadata", "uid");
    if (!this.#uids.has(uid)) this.#uids.set(uid, this.#count(`${pod} uid`, "uid"));
  }

  #learnContainer(id: string, pod: string | undefined, name: string): void {
    if (id === "" || pod === undefined || this.#owners.has(id)) return;
    this.#own(id, pod, this.#count(`${pod} container ${name}`, `container ${name}`));
  }

  #own(text: string, pod: string, symbol: string): void {
    if (!this.#owners.has(text)) this.#owners.set(text, { pod, symbol });
  }

  #count(key: string, label: string): string {
    const number = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, number);
    return `<${label} ${number}>`;
  }
}

function podName(config: Json | undefined): string | undefined {
  const namespace = textAt(config, "metadata", "namespace");
  return namespace === "" ? undefined : `${namespace}/${textAt(config, "metadata", "name")}`;
}

function byCreation(items: readonly Json[]): readonly Json[] {
  const created = (item: Json): number => Number(isObject(item) ? item["created_at"] : 0);
  return items.toSorted((a, b) => created(a) - created(b));
}
