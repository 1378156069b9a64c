import { pluginRegistryDirectory } from "../../core/paths/data-paths.ts";
import { csiDriverName } from "../../core/storage/csi/csi-volume.ts";
import type { VolumeSpec } from "../../core/storage/volume-spec.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { AgentPorts } from "../agent/agent-ports.ts";
import { LocalClaims, LocalCsiObjects } from "../intake/local-claims.ts";
import { LocalObjects } from "../intake/local-objects.ts";
import { NodeAttachments } from "../node/node-volumes.ts";
import { CsiDriverRegistry } from "../plugins/csi-driver-registry.ts";
import { CsiRegistration } from "../plugins/csi-registration.ts";
import { PluginRegistry } from "../plugins/plugin-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { BlockMaps } from "./block-maps.ts";
import { FoundVolumes } from "./found-volumes.ts";
import { storagePlugins } from "./storage-plugins.ts";
import { VolumeExpansion } from "./volume-expansion.ts";
import { VolumeOperations } from "./volume-operations.ts";
import { VolumeReconciler } from "./volume-reconciler.ts";
import { VolumeStates } from "./volume-states.ts";

type Ports = Pick<
  AgentPorts,
  | "clock"
  | "commands"
  | "csiDrivers"
  | "devices"
  | "files"
  | "foreignFiles"
  | "log"
  | "mounts"
  | "payloadFiles"
  | "pluginSockets"
  | "sha256"
>;

export interface VolumeReturnDeps extends Ports {
  /** The data folder of the agent that mounted them. */
  readonly rootFolder: string;
  readonly nodeName: string;
  readonly claimsFolder: string;
  readonly metrics: Metrics;
  /** Ends what is still being tried. */
  readonly lifetime: AbortSignal;
}

/** How long drivers have to register themselves: no agent is there that would start them. */
const registrationMs = 5_000;
/** How long a driver, or a disk, is waited for while nothing gets less. */
const patienceMs = 30_000;
/** A disk may be busy for two minutes after it was unmounted, and a target may answer as late. */
const diskPatienceMs = 200_000;

/** Something that was not given back. */
export interface KeptVolume {
  readonly name: string;
  /** Undefined for the device, which is the node's. */
  readonly pod: PodUid | undefined;
  readonly driver: string | undefined;
  readonly reason: string;
}

/** Gives the volumes back that an agent left mounted, where none will run again. */
export class VolumeReturn {
  readonly #deps: VolumeReturnDeps;
  readonly #states: VolumeStates;
  readonly #found: FoundVolumes;
  readonly #reconciler: VolumeReconciler;
  readonly #drivers = new CsiDriverRegistry();
  readonly #registrations: PluginRegistry;
  readonly #wakeUp: WakeUp;
  readonly #startedMs: number;
  /** Those that are not waited for any more. */
  #givenUp: readonly string[] = [];

  constructor(deps: VolumeReturnDeps) {
    this.#deps = deps;
    const { clock, rootFolder } = deps;
    this.#wakeUp = new WakeUp(clock);
    this.#startedMs = clock.monotonicMs();
    this.#states = new VolumeStates(new PodTable());
    const localObjects = new LocalObjects();
    const shared = {
      ...deps,
      states: this.#states,
      attachments: new NodeAttachments(undefined, false),
      claims: new LocalClaims({ ...deps, localObjects }),
      blockMaps: new BlockMaps(deps),
      events: { record: () => undefined },
      nodeLabels: { labels: {} },
    };
    const plugins = storagePlugins({
      ...shared,
      objects: localObjects,
      csiObjects: new LocalCsiObjects(localObjects),
      csiRegistry: this.#drivers,
      tokens: undefined,
      trustBundles: undefined,
      podCertificates: undefined,
      allocatable: {},
    });
    this.#found = new FoundVolumes({ ...shared, plugins });
    const expansion = new VolumeExpansion(shared);
    const operations = new VolumeOperations({ ...shared, plugins, expansion });
    this.#reconciler = new VolumeReconciler({ ...shared, operations });
    this.#reconciler.onChange = () => this.#wakeUp.notify();
    this.#registrations = this.#createRegistry(pluginRegistryDirectory(rootFolder));
  }

  #createRegistry(folder: string): PluginRegistry {
    const { csiDrivers: drivers, pluginSockets: sockets } = this.#deps;
    const registrations = new PluginRegistry({ ...this.#deps, sockets, folder });
    const registration = new CsiRegistration({
      ...this.#deps,
      drivers,
      registry: this.#drivers,
      csiNode: undefined,
      allocatable: undefined,
      wakeups: { retryVolumesOf: (driver) => this.#retryDriver(driver) },
    });
    registrations.addHandler("CSIPlugin", registration);
    return registrations;
  }

  /** Looks at the disk, once. Where drivers are needed, they are found until the end of `lifetime`, when this resolves. */
  async find(signal: AbortSignal): Promise<{ readonly registering: Promise<void> }> {
    await this.#found.find(signal);
    this.#found.settle();
    if (!this.#states.volumes().some(({ spec }) => csiDriverName(spec) !== undefined)) {
      return { registering: Promise.resolve() };
    }
    return { registering: this.#registrations.run(this.#deps.lifetime) };
  }

  usesDriver(uid: PodUid): boolean {
    const { mounts } = this.#states.pod(uid);
    return [...mounts.values()].some(({ spec }) => csiDriverName(spec) !== undefined);
  }

  /** Until nothing is left of the volumes that no running pod has, or nothing more is to be expected. */
  async giveBack(running: ReadonlySet<PodUid>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    for (const [uid] of this.#states.pods()) {
      if (!running.has(uid)) this.#states.setPod(uid, { asked: "unmount" });
    }
    await this.#found.cleanUp(signal);
    let fewest = Infinity;
    let progressMs = clock.monotonicMs();
    while (!signal.aborted) {
      const retryAtMs = this.#reconciler.reconcile(true);
      const left = this.#left().filter(({ key }) => !this.#givenUp.includes(key));
      if (left.length === 0) return;
      const nowMs = clock.monotonicMs();
      if (left.length < fewest) progressMs = nowMs;
      fewest = Math.min(fewest, left.length);
      const endMs = left.some(({ spec }) => this.#isServed(spec))
        ? progressMs + patienceFor(left)
        : this.#startedMs + registrationMs;
      if (nowMs >= endMs) {
        this.#givenUp = [...this.#givenUp, ...left.map(({ key }) => key)];
        return;
      }
      await this.#wakeUp.wait(Math.max(0, Math.min(retryAtMs + 1, endMs) - nowMs), signal);
    }
  }

  /** What was not given back, and why. */
  get kept(): readonly KeptVolume[] {
    return this.#left().map(({ name, uid, spec }) => ({
      name,
      pod: uid,
      driver: csiDriverName(spec),
      reason: this.#reconciler.lastError(name, uid) ?? "no answer",
    }));
  }

  #left(): readonly {
    readonly key: string;
    readonly name: string;
    readonly uid?: PodUid;
    readonly spec: VolumeSpec;
  }[] {
    const ended = [...this.#states.pods()].filter(([, { asked }]) => asked === "unmount");
    const mounts = ended.flatMap(([uid, pod]) =>
      [...pod.mounts].map(([name, { spec }]) => ({ key: `${name} ${uid}`, name, uid, spec })),
    );
    const needed = this.#states.namesInNeed();
    const free = this.#states.volumes().filter(({ name }) => !needed.has(name));
    return [...mounts, ...free.map(({ name, spec }) => ({ key: name, name, spec }))];
  }

  /** Whether what serves the volume is there: a driver, or the node itself. */
  #isServed(spec: VolumeSpec): boolean {
    const driver = csiDriverName(spec);
    return driver === undefined || this.#drivers.drivers.has(driver);
  }

  #retryDriver(driver: string): void {
    for (const { name, spec } of this.#states.volumes()) {
      if (csiDriverName(spec) === driver) this.#reconciler.forgetFailures(name);
    }
    this.#wakeUp.notify();
  }
}

function patienceFor(left: readonly { readonly spec: VolumeSpec }[]): number {
  return left.some(({ spec }) => csiDriverName(spec) === undefined) ? diskPatienceMs : patienceMs;
}
