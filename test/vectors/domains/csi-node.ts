import { createHash } from "node:crypto";
import { csiVersionText } from "../../../src/core/storage/csi/csi-version.ts";
import { CsiNode } from "../../../src/engine/node/csi-node.ts";
import { CsiAllocatable } from "../../../src/engine/plugins/csi-allocatable.ts";
import { CsiDriverRegistry } from "../../../src/engine/plugins/csi-driver-registry.ts";
import { CsiRegistration } from "../../../src/engine/plugins/csi-registration.ts";
import type { Result } from "../../../src/lib/result.ts";
import { ApiError } from "../../../src/model/api-error.ts";
import { CsiCallError } from "../../../src/model/csi-call-error.ts";
import type {
  CSIDriver,
  CSINode,
  Node,
  PersistentVolume,
  VolumeAttachment,
} from "../../../src/model/generated/kubernetes.ts";
import type { RuntimeErrorCode } from "../../../src/model/runtime-error.ts";
import type { ApiClient, ApiRequest } from "../../../src/ports/api-client.ts";
import type { CsiDrivers, CsiNodeClient } from "../../../src/ports/csi-drivers.ts";
import { silentLog } from "../../kit/silent-log.ts";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface EncodedNodeInfo {
  readonly nodeId?: string;
  readonly maxVolumesPerNode?: number;
  readonly topology?: Readonly<Record<string, string>>;
}

interface RpcError {
  readonly code: RuntimeErrorCode;
  readonly message: string;
}

interface InjectedError {
  readonly verb: string;
  readonly resource: string;
  readonly times: number;
  readonly message: string;
}

interface Step {
  readonly op: string;
  readonly driver?: string;
  readonly endpoint?: string;
  readonly versions?: readonly string[];
  readonly nodeInfo?: EncodedNodeInfo;
  readonly rpcError?: RpcError;
  readonly seconds?: number;
  readonly csiDriver?: CSIDriver;
  readonly persistentVolume?: PersistentVolume;
  readonly volumeAttachment?: VolumeAttachment;
  readonly apiErrors?: readonly InjectedError[];
}

interface Input {
  readonly nodeName: string;
  readonly node?: Node;
  readonly csiNode?: CSINode;
  readonly csiDrivers?: readonly CSIDriver[];
  readonly steps: readonly Step[];
}

const plugins = "/var/lib/kubelet/plugins/";
const verbs = { GET: "get", POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };

export const csiNode: VectorDomain = vectorDomain<Input>("csi-node", async (input) => {
  const world = new World(input);
  const steps: unknown[] = [];
  for (const step of input.steps) steps.push(await world.step(step));
  await world.stop();
  return { steps };
});

class World {
  readonly #api: MemoryApi;
  readonly #clock = new VirtualClock();
  readonly #registry = new CsiDriverRegistry();
  readonly #csiNode: CsiNode;
  readonly #allocatable: CsiAllocatable;
  readonly #handler: CsiRegistration;
  readonly #objects = new Map<string, CSIDriver>();
  /** What drivers answer, by endpoint. */
  readonly #answers = new Map<string, Pick<Step, "nodeInfo" | "rpcError">>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #infoCalls = 0;

  constructor({ nodeName, node, csiNode: known, csiDrivers }: Input) {
    this.#api = new MemoryApi(nodeName, node, known);
    for (const driver of csiDrivers ?? []) this.#objects.set(nameOf(driver), driver);
    const shared = { clock: this.#clock, log: silentLog, registry: this.#registry };
    const drivers = this.#drivers();
    const api = this.#api;
    this.#csiNode = new CsiNode({ ...shared, api, random: () => 0.5, nodeName });
    this.#allocatable = new CsiAllocatable({
      ...shared,
      api,
      drivers,
      csiNode: this.#csiNode,
      objects: { items: this.#objects },
      nodeName,
      sha256: (text) => createHash("sha256").update(text).digest("hex"),
    });
    const allocatable = this.#allocatable;
    this.#handler = new CsiRegistration({
      ...shared,
      drivers,
      csiNode: this.#csiNode,
      allocatable,
      wakeups: { retryVolumesOf: () => undefined },
    });
    this.#running = allocatable.run(this.#stop.signal);
  }

  async step(step: Step): Promise<unknown> {
    this.#api.writes = [];
    this.#infoCalls = 0;
    this.#api.errors = (step.apiErrors ?? []).map((error) => ({ ...error }));
    const outcome =
      step.op === "advance"
        ? await this.#clock.advance((step.seconds ?? 0) * 1000)
        : await this.#clock.run(this.#act(step));
    return { ...outcome, ...this.#show() };
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #act(step: Step): Promise<object> {
    const { driver = "", endpoint: name = "", versions } = step;
    const endpoint = `${plugins}${name}`;
    const plugin = { name: driver, endpoint, supportedVersions: versions ?? [] };
    const { signal } = new AbortController();
    switch (step.op) {
      case "initialize":
        return shownError(await this.#csiNode.initialize(signal));
      case "validate":
        return shownError(this.#handler.validate(plugin));
      case "register":
        this.#answers.set(endpoint, step);
        return shownError(await this.#handler.register(plugin, signal));
      case "deregister": {
        const known = this.#registry.drivers.get(driver);
        await this.#handler.deregister({ ...plugin, ...known }, signal);
        return {};
      }
      case "setNodeInfo":
        this.#answers.set(endpoint, step);
        return {};
      case "setCSIDriver":
        if (step.csiDriver === undefined) throw new Error("a step without its object");
        this.#objects.set(nameOf(step.csiDriver), step.csiDriver);
        this.#allocatable.noteChanged([nameOf(step.csiDriver)]);
        return {};
      case "deleteCSIDriver":
        this.#objects.delete(driver);
        this.#allocatable.noteChanged([driver]);
        return {};
      case "verifyExhausted": {
        if (step.persistentVolume === undefined) throw new Error("a step without its volume");
        if (step.volumeAttachment !== undefined) this.#api.addAttachment(step.volumeAttachment);
        return {
          exhausted: await this.#allocatable.verifyExhausted(step.persistentVolume, signal),
        };
      }
      default:
        throw new Error(`unknown step ${step.op}`);
    }
  }

  #show(): object {
    const { node, csiNode: known } = this.#api;
    return {
      writes: this.#api.writes,
      nodeGetInfoCalls: this.#infoCalls,
      nodeLabels: node?.metadata?.labels,
      nodeAnnotations: node?.metadata?.annotations,
      csiNode: known && {
        annotations: known.metadata?.annotations,
        ownerReferences: known.metadata?.ownerReferences,
        drivers: known.spec.drivers,
      },
      registered: [...this.#registry.drivers]
        .map(([name, { endpoint, version }]) =>
          [name, endpoint.slice(plugins.length), csiVersionText(version)].join(" "),
        )
        .toSorted(),
    };
  }

  #drivers(): CsiDrivers {
    const getInfo = async (endpoint: string) => {
      this.#infoCalls += 1;
      const { nodeInfo, rpcError } = this.#answers.get(endpoint) ?? {};
      if (rpcError !== undefined) throw new CsiCallError(rpcError.code, rpcError.message);
      const { nodeId, maxVolumesPerNode = 0, topology } = nodeInfo ?? {};
      const accessibleTopology = topology === undefined ? undefined : { segments: topology };
      return { nodeId, maxVolumesPerNode: BigInt(maxVolumesPerNode), accessibleTopology };
    };
    return {
      connect: (endpoint) =>
        ({ getInfo: () => getInfo(endpoint) }) as Partial<CsiNodeClient> as never,
    };
  }
}

/** The three kinds of objects, as an API server keeps them. */
class MemoryApi implements ApiClient {
  readonly #nodeName: string;
  readonly #attachments = new Map<string, VolumeAttachment>();
  node: Node | undefined;
  csiNode: CSINode | undefined;
  writes: string[] = [];
  errors: { verb: string; resource: string; times: number; message: string }[] = [];

  constructor(nodeName: string, node: Node | undefined, csiNode: CSINode | undefined) {
    this.#nodeName = nodeName;
    this.node = node;
    this.csiNode = csiNode;
  }

  addAttachment(attachment: VolumeAttachment): void {
    this.#attachments.set(attachment.metadata?.name ?? "", attachment);
  }

  watch(): Promise<void> {
    throw new Error("nothing is watched");
  }

  async send<T>(request: ApiRequest): Promise<T> {
    const verb = verbs[request.method];
    const [resource = "", name = ""] = resourceOf(request.path);
    const shown = request.path.endsWith("/status") ? `${resource}/status` : resource;
    if (verb !== "get") this.writes.push(`${verb} ${shown}`);
    const error = this.errors.find(
      (each) => each.verb === verb && each.resource === resource && each.times > 0,
    );
    if (error !== undefined) {
      error.times -= 1;
      throw new ApiError(500, "InternalError", error.message);
    }
    return structuredClone(this.#answer(request, resource, name)) as T;
  }

  #answer({ method, body }: ApiRequest, resource: string, name: string): unknown {
    if (resource === "volumeattachments")
      return this.#found(this.#attachments.get(name), resource, name);
    if (resource === "nodes") {
      const node = this.#found(this.node, resource, name);
      if (method === "PATCH") this.node = merged(node, body) as Node;
      return this.node;
    }
    if (method === "POST") this.csiNode = structuredClone(body) as CSINode;
    else if (method === "PUT") this.csiNode = structuredClone(body) as CSINode;
    const known = this.#found(this.csiNode, resource, name);
    if (method === "DELETE") this.csiNode = undefined;
    return known;
  }

  #found<T>(object: T | undefined, resource: string, name: string): T {
    if (object !== undefined) return object;
    throw new ApiError(404, "NotFound", `${resource} "${name || this.#nodeName}" not found`);
  }
}

/** The collection and the name in a path such as /api/v1/nodes/node-a/status. */
function resourceOf(path: string): readonly string[] {
  return path.replace(/^\/(?:api|apis\/[^/]+)\/v1\//, "").split("/");
}

/** A merge of maps, which is all that these patches have. */
function merged(before: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null) return patch;
  const result: Record<string, unknown> = { ...(before as object | undefined) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

function shownError(outcome: Result<void, string>): object {
  return outcome.ok ? {} : { error: outcome.error };
}

function nameOf({ metadata }: CSIDriver): string {
  return metadata?.name ?? "";
}
