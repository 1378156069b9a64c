import { DeviceCheckpointEncoder } from "../../src/core/devices/plugin/device-checkpoint.ts";
import { parseThresholds } from "../../src/core/eviction/parse-thresholds.ts";
import type { NodePressure } from "../../src/core/eviction/signal.ts";
import type { NodeEvent } from "../../src/core/node/node-event.ts";
import { allocateResponseCodec } from "../../src/drivers/device-plugins/allocate-response.ts";
import { DeviceStore } from "../../src/engine/devices/device-store.ts";
import { CsiNode } from "../../src/engine/node/csi-node.ts";
import { NodeAgent } from "../../src/engine/node/node-agent.ts";
import type { NodeSettings } from "../../src/engine/node/node-settings.ts";
import { NodeStartup } from "../../src/engine/node/node-startup.ts";
import { NodeStatusSource } from "../../src/engine/node/node-status-source.ts";
import { NodeVolumes } from "../../src/engine/node/node-volumes.ts";
import type { RuntimeReport } from "../../src/engine/observe/runtime-health.ts";
import { ok } from "../../src/lib/result.ts";
import type { Image } from "../../src/model/generated/cri.ts";
import type { Node } from "../../src/model/generated/kubernetes.ts";
import type { MachineInfo } from "../../src/model/machine-info.ts";
import { noMetrics } from "../kit/no-metrics.ts";
import { silentLog } from "../kit/silent-log.ts";
import { noPinning } from "../kit/test-managers.ts";
import { MemoryApi } from "./memory-api.ts";
import { VirtualClock } from "./virtual-clock.ts";

const kib = 1024;

/** A machine whose node lives in the API server in memory. What is writable may be changed while it runs. */
export class NodeWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly api: MemoryApi = new MemoryApi(() => this.clock.nowMs());
  readonly events: NodeEvent[] = [];
  readonly podCidrs: string[] = [];
  readonly metrics: Map<string, number> = new Map();
  machine: MachineInfo = {
    cpuCount: 2,
    memoryBytes: 24_684_100n * 1024n,
    swapBytes: 0n,
    hugePages: [
      { pageSizeKb: 2048, count: 0 },
      { pageSizeKb: 1_048_576, count: 0 },
    ],
    machineId: "machine",
    systemUuid: "uuid",
    bootId: "boot-1",
  };
  images: readonly Image[] = [];
  report: RuntimeReport = { problems: [], handlers: [], features: undefined };
  pressures: readonly NodePressure[] = [];
  formerDevices: readonly string[] = [];
  /** What the volume manager says; undefined until it knows all. */
  volumesInUse: readonly string[] | undefined;
  /** What it was notified of, in order. */
  readonly reportedInUse: (readonly string[])[] = [];
  readonly agent: NodeAgent;
  readonly #stop = new AbortController();
  readonly #devices: DeviceStore = new DeviceStore({
    settings: {
      node: { managers: noPinning, devicePluginFolder: "/var/lib/kubelet/device-plugins" },
    },
    files: {
      readText: () => Promise.resolve(deviceCheckpoint(this.formerDevices)),
      writeFile: () => Promise.resolve(),
      ensureFolder: () => Promise.resolve(),
    },
    allocateResponses: allocateResponseCodec,
    clock: this.clock,
    log: silentLog,
  });
  #running: Promise<void> = Promise.resolve();

  constructor(settings: Partial<NodeSettings> = {}) {
    this.agent = this.#createAgent({ ...defaultSettings, ...settings });
  }

  start(): void {
    this.#running = this.#devices.start().then(() => this.agent.run(this.#stop.signal));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  get node(): Node | undefined {
    return this.api.get("/api/v1/nodes/conf-node");
  }

  /** The condition's status, and whether it is there at all. */
  condition(type: string): string | undefined {
    return this.node?.status?.conditions?.find((condition) => condition.type === type)?.status;
  }

  /** The requests since the last call, as METHOD path. */
  takeRequests(): readonly string[] {
    return this.api.requests.splice(0).map(({ method, path }) => `${method} ${path}`);
  }

  #createAgent(settings: NodeSettings): NodeAgent {
    const { api, clock } = this;
    const { nodeName } = settings;
    const readNode = (): Node | undefined => this.node;
    const events = { recordNode: (event: NodeEvent) => void this.events.push(event) };
    const csiNode = new CsiNode({ api, clock, random: () => 0.5, log: silentLog, nodeName });
    const source = this.#createSource(settings, csiNode);
    const startup = new NodeStartup({
      metrics: { ...noMetrics, set: (name, value) => void this.metrics.set(name, value) },
      clock,
      events,
      nodeName,
      hostUsage: { bootTimeMs: clock.nowMs() - 60_000 },
      hostCgroups: { version: 2 },
      resolverProblem: undefined,
    });
    return new NodeAgent({
      api,
      settings,
      clock,
      random: () => 0.5,
      log: silentLog,
      runtime: {
        updateRuntimeConfig: (cidr) => {
          this.podCidrs.push(cidr);
          return Promise.resolve();
        },
      },
      cluster: {
        events,
        noteAnswered: () => undefined,
        get node() {
          return readNode();
        },
      },
      source,
      csiNode,
      startup,
    });
  }

  #createSource(settings: NodeSettings, csiNode: CsiNode): NodeStatusSource {
    return new NodeStatusSource({
      settings: { ...settings, rootFolder: "/var/lib/kubelet" },
      clock: this.clock,
      nodeFacts: {
        readMachine: () => this.machine,
        readSystem: () => ({
          kernelVersion: "6.18.44-fc-v490",
          osImage: "Debian GNU/Linux 12 (bookworm)",
        }),
        listIps: () => ["127.0.0.1", "10.99.0.1"],
        lookUp: () => Promise.resolve([]),
        defaultIp: () => ok("10.99.0.1"),
      },
      hostUsage: {
        fileSystem: () =>
          Promise.resolve({
            timeMs: 0,
            device: "1",
            availableBytes: 0,
            capacityBytes: 264_212_084 * kib,
            usedBytes: 0,
            inodes: 0,
            inodesFree: 0,
          }),
      },
      runtime: {
        version: () => Promise.resolve({ runtimeVersion: "1.6.20~ds1" }),
        listImages: () => Promise.resolve(this.images),
      },
      deviceStore: this.#devices,
      health: this,
      eviction: this,
      readiness: [csiNode],
      nodeVolumes: new NodeVolumes({
        cluster: this,
        storage: {
          volumesInUse: () => this.volumesInUse,
          isReportAwaited: false,
          noteReportedInUse: (names) => void this.reportedInUse.push(names),
        },
        wakeups: { lookAtVolumes: () => undefined },
      }),
    });
  }
}

/** What a kubelet whose device plugins served these resources leaves on disk. */
function deviceCheckpoint(resources: readonly string[]): string {
  const registered = new Map(resources.map((name) => [name, []]));
  return new DeviceCheckpointEncoder(allocateResponseCodec).text({ entries: [], registered });
}

const defaultSettings: NodeSettings = {
  nodeName: "conf-node",
  hostname: "conf-node",
  architecture: "amd64",
  nodeLabels: {},
  registerWithTaints: [],
  providerId: "",
  externalCloudProvider: false,
  enableControllerAttachDetach: true,
  nodeIps: ["10.99.0.1"],
  maxPods: 130,
  podsPerCore: 0,
  maxImages: 50,
  port: 20_250,
  kubeletVersion: "v1.36.4",
  runtimeName: "containerd",
  localStorageCapacityIsolation: true,
  reservations: {
    kubeReserved: new Map(),
    systemReserved: new Map(),
    hardThresholds: recordedThresholds(),
  },
  declaredFeatures: [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
  ],
  registerNode: true,
  statusUpdateMs: 10_000,
  statusReportMs: 300_000,
  leaseDurationSeconds: 40,
};

function recordedThresholds(): NodeSettings["reservations"]["hardThresholds"] {
  const parsed = parseThresholds({
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%" },
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforceNodeAllocatable: [],
  });
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value.thresholds;
}
