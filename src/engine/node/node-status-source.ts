import { needsAddressLookup } from "../../core/node/node-addresses.ts";
import type { StoredImage } from "../../core/node/node-images.ts";
import { nodeIpProblem } from "../../core/node/node-ip-problem.ts";
import {
  type ComputedNode,
  computeNode,
  type NodeStatusFacts,
  type NodeStatusSettings,
} from "../../core/node/node-status.ts";
import { parseRuntimeVersion } from "../../core/node/runtime-version.ts";
import { errorText } from "../../lib/error-text.ts";
import { parseIpAddress } from "../../lib/ip-address.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { formatTime } from "../../lib/time.ts";
import type { Image } from "../../model/generated/cri.ts";
import type { Node, NodeRuntimeHandler } from "../../model/generated/kubernetes.ts";
import { type Quantity, wholeQuantity } from "../../model/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime, ImageService } from "../../ports/container-runtime.ts";
import type { HostUsage } from "../../ports/host-usage.ts";
import type { NodeFacts } from "../../ports/node-facts.ts";
import type { DeviceStore } from "../devices/device-store.ts";
import type { RuntimeHealth } from "../observe/runtime-health.ts";
import type { EvictionManager } from "../resources/eviction/eviction-manager.ts";
import type { NodeVolumes } from "./node-volumes.ts";

const imageListAgeMs = 120_000;
const versionAgeMs = 300_000;
/** With many pods the machine has many interfaces, and listing them takes long. */
const hostIpsAgeMs = 60_000;

export interface NodeStatusSourceDeps {
  readonly settings: NodeStatusSettings & {
    /** Whose file system holds what pods write. */
    readonly rootFolder: string;
  };
  readonly clock: Clock;
  readonly nodeFacts: NodeFacts;
  readonly hostUsage: Pick<HostUsage, "fileSystem">;
  readonly runtime: Pick<ContainerRuntime, "version"> & Pick<ImageService, "listImages">;
  readonly deviceStore: Pick<DeviceStore, "readCapacity">;
  readonly health: Pick<RuntimeHealth, "report">;
  readonly eviction: Pick<EvictionManager, "pressures">;
  /** What else can make the node not ready: storage, and a shutdown. */
  readonly readiness: readonly { readonly problem: string | undefined }[];
  readonly nodeVolumes: NodeVolumes;
}

/** Reads the state of the machine and of the runtime, and computes the node's status from it. */
export class NodeStatusSource {
  readonly #deps: NodeStatusSourceDeps;
  #images: Result<readonly StoredImage[], string> = ok([]);
  #imagesAtMs: number | undefined;
  #hostIps: { readonly list: readonly string[]; readonly readAtMs: number } | undefined;
  #version: { readonly text: string | undefined; readonly readAtMs: number } | undefined;

  constructor(deps: NodeStatusSourceDeps) {
    this.#deps = deps;
  }

  /** The node with its status as of now. */
  async compute(node: Node, wasUnschedulable: boolean, signal: AbortSignal): Promise<ComputedNode> {
    const { settings, clock } = this.#deps;
    const facts = await this.#look(wasUnschedulable, signal);
    return computeNode(node, settings, facts, formatTime(clock.nowMs()));
  }

  /** Something waits until the API server has the node's status. */
  get isUrgent(): boolean {
    return this.#deps.nodeVolumes.isReportUrgent;
  }

  /** The API server has the node like this. */
  noteReported(node: Node): void {
    this.#deps.nodeVolumes.noteReported(node);
  }

  async #look(wasUnschedulable: boolean, signal: AbortSignal): Promise<NodeStatusFacts> {
    const { nodeFacts: facts, readiness, nodeVolumes, deviceStore } = this.#deps;
    const { pressures } = this.#deps.eviction;
    const { report } = this.#deps.health;
    return {
      machine: await resultOf(() => facts.readMachine()),
      system: await resultOf(() => facts.readSystem()),
      ephemeralStorage: await this.#readEphemeralStorage(),
      addresses: await this.#lookUpAddresses(),
      runtimeVersion: await this.#readRuntimeVersion(signal),
      images: await this.#listImages(signal),
      runtimeHandlers: report.handlers
        .map(
          ({ name = "", features }): NodeRuntimeHandler => ({
            name,
            features: {
              recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
              userNamespaces: features?.userNamespaces ?? false,
            },
          }),
        )
        .toSorted((a, b) => ((a.name ?? "") < (b.name ?? "") ? -1 : 1)),
      runtimeFeatures: report.features && {
        supplementalGroupsPolicy: report.features.supplementalGroupsPolicy ?? false,
      },
      devices: await deviceStore.readCapacity(),
      health: {
        memoryPressure: pressures.includes("MemoryPressure"),
        diskPressure: pressures.includes("DiskPressure"),
        pidPressure: pressures.includes("PIDPressure"),
        problems: [...report.problems, ...readiness.flatMap(({ problem }) => problem ?? [])],
        softProblem: "",
      },
      volumesInUse: nodeVolumes.inUse,
      wasUnschedulable,
    };
  }

  async #readEphemeralStorage(): Promise<Quantity | undefined> {
    const usage = await this.#deps.hostUsage.fileSystem(this.#deps.settings.rootFolder);
    return usage && wholeQuantity(BigInt(usage.capacityBytes), "BinarySI");
  }

  #listHostIps(): readonly string[] {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#hostIps === undefined || nowMs - this.#hostIps.readAtMs >= hostIpsAgeMs) {
      this.#hostIps = { list: this.#deps.nodeFacts.listIps(), readAtMs: nowMs };
    }
    return this.#hostIps.list;
  }

  async #lookUpAddresses(): Promise<NodeStatusFacts["addresses"]> {
    const { nodeFacts: facts, settings } = this.#deps;
    const hostIps = this.#listHostIps();
    const mustLookUp = needsAddressLookup(settings);
    const [wanted = ""] = settings.nodeIps;
    const family = parseIpAddress(wanted)?.family ?? 4;
    return {
      nodeIpProblem: (ip) => nodeIpProblem(ip, hostIps),
      namedIps: mustLookUp ? await facts.lookUp(settings.nodeName) : [],
      defaultIp: mustLookUp ? facts.defaultIp(family) : err("not asked for"),
    };
  }

  async #readRuntimeVersion(signal: AbortSignal): Promise<string | undefined> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#version !== undefined && nowMs - this.#version.readAtMs < versionAgeMs) {
      return this.#version.text;
    }
    const answer = await resultOf(() => this.#deps.runtime.version(signal));
    const text = answer.ok ? parseRuntimeVersion(answer.value.runtimeVersion ?? "") : undefined;
    this.#version = answer.ok ? { text, readAtMs: nowMs } : undefined;
    return text;
  }

  async #listImages(signal: AbortSignal): Promise<Result<readonly StoredImage[], string>> {
    const nowMs = this.#deps.clock.monotonicMs();
    const isFresh = this.#imagesAtMs !== undefined && nowMs - this.#imagesAtMs < imageListAgeMs;
    if (isFresh) return this.#images;
    const listed = await resultOf(() => this.#deps.runtime.listImages(signal));
    this.#images = listed.ok ? ok(listed.value.toSorted(bySize).map(storedImage)) : listed;
    this.#imagesAtMs = listed.ok ? nowMs : undefined;
    return this.#images;
  }
}

function storedImage({ repoDigests, repoTags, size }: Image): StoredImage {
  return {
    repoDigests: repoDigests ?? [],
    repoTags: repoTags ?? [],
    sizeBytes: Number(size ?? 0n),
  };
}

/** The largest first; of equal ones that with the greater id. */
function bySize(a: Image, b: Image): number {
  const difference = (b.size ?? 0n) - (a.size ?? 0n);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return (a.id ?? "") > (b.id ?? "") ? -1 : 1;
}

async function resultOf<T>(read: () => T | Promise<T>): Promise<Result<T, string>> {
  try {
    return ok(await read());
  } catch (error) {
    return err(errorText(error));
  }
}
