import type { SimMachine } from "../../../../src/app/sim-agent.ts";
import type { AgentPorts } from "../../../../src/engine/agent/agent-ports.ts";
import { ApiError } from "../../../../src/model/api-error.ts";
import type { Node, PersistentVolumeClaim } from "../../../../src/model/generated/kubernetes.ts";
import type { ApiClient } from "../../../../src/ports/api-client.ts";
import type { SourceSnapshot } from "../../../../src/ports/pod-source.ts";
import type { MemoryPluginSockets } from "../../../kit/memory-plugin-sockets.ts";
import type { Change } from "../../api-watchers.ts";
import type { MemoryApi } from "../../memory-api.ts";
import type { Dice } from "../dice.ts";
import type { Invariants } from "../invariants.ts";
import { PluginFaults } from "../plugin-faults.ts";
import { withMethods } from "../with-methods.ts";
import { AttachController } from "./attach-controller.ts";
import { ResizeController } from "./resize-controller.ts";
import { type CsiCall, SimCsiDriver, type SimVolume } from "./sim-csi-driver.ts";
import { SimDevices } from "./sim-devices.ts";
import {
  claimObject,
  driverNames,
  driverObject,
  findVolume,
  plainClaim,
  type SimClaim,
  simClaims,
  volumeObject,
} from "./storage-objects.ts";
import { StorageRules } from "./storage-rules.ts";

const registryFolder = "/sim/plugins_registry";
const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
/** Reads that only the volumes of pods need. */
const volumeReads = /\/(persistentvolumeclaims|persistentvolumes|volumeattachments)\//;

export interface StorageWorldDeps {
  readonly machine: SimMachine;
  readonly dice: Dice;
  readonly nodeName: string;
  readonly sockets: MemoryPluginSockets;
  readonly invariants: Invariants;
  readonly isKnown: (containerId: string) => boolean;
  /** Holds the agent to its promises. */
  readonly check: (work: () => void) => void;
  readonly note: (text: string) => void;
}

/** Storage of others than the node: CSI drivers, claims and their volumes, and in a cluster what attaches them. */
export class StorageWorld {
  readonly #deps: StorageWorldDeps;
  readonly faults: PluginFaults;
  readonly devices: SimDevices;
  readonly drivers: readonly SimCsiDriver[];
  readonly rules: StorageRules;
  readonly #readDice: Dice;
  /** How likely a read of a claim, volume or attachment is to fail or hang. */
  readFaultRate = 0;
  #api: MemoryApi | undefined;
  controller: AttachController | undefined;
  resizer: ResizeController | undefined;

  constructor(deps: StorageWorldDeps) {
    this.#deps = deps;
    const { machine, dice, invariants, isKnown } = deps;
    this.faults = new PluginFaults(dice.split());
    this.#readDice = dice.split();
    this.devices = new SimDevices(machine.files, machine.mounts);
    const driverDeps = {
      machine,
      devices: this.devices,
      faults: this.faults,
      dice: dice.split(),
      onCall: (call: CsiCall) => this.#noteCall(call),
    };
    this.drivers = driverNames.map((name) => new SimCsiDriver(name, driverDeps));
    this.rules = new StorageRules({
      machine,
      invariants,
      isKnown,
      volumesInUse: () => this.#node()?.status?.volumesInUse ?? this.#noneInUse(),
      volumes: () => this.volumes,
      capacityOf: (driver, handle) => {
        const claim = findVolume(driver, handle);
        return claim && this.resizer?.sizesOf(claim)?.volume;
      },
    });
    for (const driver of this.drivers) this.startDriver(driver);
  }

  get volumes(): readonly SimVolume[] {
    return this.drivers.flatMap(({ volumes }) => volumes);
  }

  /** The node is one of this cluster. */
  join(api: MemoryApi, isDown: () => boolean): void {
    const { machine, dice, nodeName } = this.#deps;
    this.#api = api;
    for (const name of driverNames) {
      api.put(`/apis/storage.k8s.io/v1/csidrivers/${name}`, driverObject(name));
    }
    for (const claim of simClaims) {
      api.put(`/api/v1/persistentvolumes/${claim.volume}`, volumeObject(claim));
      this.setClaim(claim, dice.chance(0.8) ? "Bound" : "Pending");
    }
    this.resizer = new ResizeController({ api, clock: machine.clock, dice: dice.split(), isDown });
    this.controller = new AttachController({
      api,
      clock: machine.clock,
      dice: dice.split(),
      nodeName,
      isDown,
      onDetach: ({ driver = "", handle }) =>
        this.#deps.check(() => this.rules.noteDetached(driver, handle)),
    });
  }

  /** Something changed in the API server. */
  noteChange({ collection }: Change): void {
    if (collection === "v1/nodes") this.#deps.check(() => this.rules.noteNode());
    if (collection === "v1/persistentvolumeclaims") this.#noteClaims();
    if (collection === "v1/nodes" || collection === "v1/pods") this.controller?.wake();
  }

  #noteClaims(): void {
    this.resizer?.wake();
    for (const claim of simClaims) {
      const { driver = "", handle } = claim;
      const bytes = this.resizer?.sizesOf(claim)?.claim ?? 0n;
      this.#deps.check(() => this.rules.noteClaimSize(driver, handle, bytes));
    }
  }

  /** It keeps the size that it has by now. */
  setClaim(claim: SimClaim, phase: "Bound" | "Pending"): void {
    const path = `${claims}/${claim.claim}`;
    const known: PersistentVolumeClaim | undefined = this.#api?.get(path);
    const next = claimObject(claim, phase, known?.spec?.resources?.requests?.["storage"]);
    this.#api?.put(path, { ...next, status: { ...next.status, ...known?.status, phase } });
  }

  /** Claims that were pending are bound. */
  bindClaims(): void {
    for (const claim of simClaims) {
      const known = this.#api?.get(`${claims}/${claim.claim}`);
      const { phase } = (known?.["status"] ?? {}) as { readonly phase?: string };
      if (phase === "Pending") this.setClaim(claim, "Bound");
    }
  }

  /** What lies beside the pods of a node without a cluster. */
  get manifests(): Pick<SourceSnapshot, "claims" | "persistentVolumes" | "csiDrivers"> {
    const written = [...simClaims, plainClaim].map((claim) => {
      const { status: _, ...object } = claimObject(claim, "Pending");
      return object;
    });
    return {
      claims: written,
      persistentVolumes: simClaims.map((claim) => volumeObject(claim)),
      csiDrivers: driverNames.map(driverObject),
    };
  }

  startDriver(driver: SimCsiDriver): void {
    driver.start();
    const { name } = driver;
    this.#deps.sockets.addSocket(socketOf(name), {
      type: "CSIPlugin",
      name,
      endpoint: endpointOf(name),
      supportedVersions: ["1.0.0"],
    });
  }

  /** Its socket may stay, as that of a driver that was killed. */
  killDriver(driver: SimCsiDriver, isSocketLeft: boolean): void {
    driver.die();
    if (!isSocketLeft) this.#deps.sockets.remove(socketOf(driver.name));
  }

  /** Nothing goes wrong any more. Claims grow again: what runs has to follow. */
  end(): void {
    this.faults.end();
    this.readFaultRate = 0;
    for (const driver of this.drivers) if (!driver.isUp) this.startDriver(driver);
    this.bindClaims();
    for (const claim of simClaims) this.resizer?.grow(claim);
    this.resizer?.settle();
  }

  /** What an agent sees of it. */
  bind(ports: AgentPorts): AgentPorts {
    const { files, apiServer } = ports;
    const { mounts } = this.#deps.machine;
    const none = { name: "", client: undefined };
    return {
      ...ports,
      devices: this.devices.port,
      commands: this.devices.commands,
      pluginSockets: this.#deps.sockets,
      csiDrivers: {
        connect: (endpoint) => {
          const found = this.drivers.find(({ name }) => endpointOf(name) === endpoint) ?? none;
          if (found.client === undefined) throw new Error(`nothing is at ${endpoint}`);
          return found.client;
        },
      },
      files: withMethods(files, (name, method) => (...args) => {
        const isBusy = name === "removeEntry" && mounts.sourceOf(String(args[0])) !== undefined;
        if (isBusy) return Promise.reject(new Error(`EBUSY: rmdir ${String(args[0])}`));
        return method(...args);
      }),
      apiServer: apiServer && { ...apiServer, api: this.#bindApi(apiServer.api) },
    };
  }

  #bindApi(api: ApiClient): ApiClient {
    return {
      watch: (request, onEvent, signal) => api.watch(request, onEvent, signal),
      send: async (request, signal) => {
        const isRead = request.method === "GET" && volumeReads.test(request.path);
        if (isRead) this.#deps.check(() => this.rules.noteRead(request.path));
        if (isRead && this.#readDice.chance(this.readFaultRate)) {
          const { clock } = this.#deps.machine;
          const forMs = this.#readDice.pick([0, 5_000, 45_000]);
          await clock.sleep(forMs, signal);
          if (forMs === 0)
            throw new ApiError(500, "InternalError", "etcdserver: request timed out");
        }
        return await api.send(request, signal);
      },
    };
  }

  #noteCall(call: CsiCall): void {
    this.#deps.note(`csi ${call.kind} ${call.volume.handle.slice(0, 20)} ${call.path}`);
    this.#deps.check(() => this.rules.noteCall(call));
  }

  #node(): Node | undefined {
    return this.#api?.get(`/api/v1/nodes/${this.#deps.nodeName}`);
  }

  /** Nothing is reported: a node that is not there uses nothing, and one without a cluster reports nothing. */
  #noneInUse(): readonly string[] | undefined {
    return this.#node() === undefined ? undefined : [];
  }
}

function socketOf(name: string): string {
  return `${registryFolder}/${name}-reg.sock`;
}

function endpointOf(name: string): string {
  return `/sim/plugins/${name}/csi.sock`;
}
