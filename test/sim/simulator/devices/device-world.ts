import { defaultManagerOptions, managerSettings } from "../../../../src/app/manager-options.ts";
import type { SimMachine } from "../../../../src/app/sim-agent.ts";
import type { AgentPorts } from "../../../../src/engine/agent/agent-ports.ts";
import type { AgentSettings } from "../../../../src/engine/agent/agent-settings.ts";
import { ApiError } from "../../../../src/model/api-error.ts";
import type { Pod } from "../../../../src/model/pod.ts";
import type { ApiRequest } from "../../../../src/ports/api-client.ts";
import type { DevicePluginRegistration } from "../../../../src/ports/device-plugins.ts";
import type { MemoryPluginSockets } from "../../../kit/memory-plugin-sockets.ts";
import type { MemoryApi } from "../../memory-api.ts";
import type { Dice } from "../dice.ts";
import type { Invariants } from "../invariants.ts";
import { PluginFaults } from "../plugin-faults.ts";
import {
  allocatableCpus,
  cpuReservation,
  draDriverNames,
  resourceClaimObject,
  resourceClaims,
  simResources,
  smallTopology,
} from "./device-objects.ts";
import { DeviceRules } from "./device-rules.ts";
import { SimDevicePlugin } from "./sim-device-plugin.ts";
import { type DraCall, SimDraDriver } from "./sim-dra-driver.ts";

const registryFolder = "/sim/plugins_registry";
const ownSocketFolder = "/sim/device-plugins";
const claimPath = /\/resourceclaims\/([^/]+)$/;
/** For how long a plugin waits for the answer to its registration, and then before the next attempt. */
const registrationMs = 10_000;
const registrationPauseMs = 3_000;

export interface DeviceWorldDeps {
  readonly machine: SimMachine;
  readonly dice: Dice;
  readonly sockets: MemoryPluginSockets;
  readonly invariants: Invariants;
  readonly isKnown: (containerId: string) => boolean;
  /** Holds the agent to its promises. */
  readonly check: (work: () => void) => void;
  readonly note: (text: string) => void;
}

/** Hardware that pods get for themselves: CPUs, the devices of device plugins, and claims that DRA drivers prepare. */
export class DeviceWorld {
  readonly #deps: DeviceWorldDeps;
  readonly faults: PluginFaults;
  readonly plugins: readonly SimDevicePlugin[];
  readonly drivers: readonly SimDraDriver[];
  readonly rules: DeviceRules;
  readonly #managers: AgentSettings["node"]["managers"];
  #registration: DevicePluginRegistration | undefined;

  constructor(deps: DeviceWorldDeps) {
    this.#deps = deps;
    const { machine, dice } = deps;
    this.faults = new PluginFaults(dice.split());
    this.#managers = randomManagers(dice.split());
    const own = { clock: machine.clock, dice: dice.split(), faults: this.faults };
    this.plugins = simResources.map((resource) => new SimDevicePlugin(resource, own));
    const onCall = (call: DraCall): void => this.#noteCall(call);
    this.drivers = draDriverNames.map((name) => new SimDraDriver(name, { ...own, onCall }));
    this.rules = new DeviceRules({ ...deps, drivers: this.drivers });
    for (const plugin of this.plugins) if (dice.chance(0.8)) this.#startPlugin(plugin);
    for (const driver of this.drivers) if (dice.chance(0.8)) this.#startDriver(driver);
  }

  /** The node is one of this cluster, which has claims for its pods. */
  join(api: MemoryApi): void {
    api.intercept(({ method, path }: ApiRequest) => {
      const name = method === "GET" ? claimPath.exec(path)?.[1] : undefined;
      if (name === undefined) return undefined;
      const claim = resourceClaims.find((each) => each.name === name);
      if (claim === undefined) throw new ApiError(404, "NotFound", `no claim ${name}`);
      const pods = api.list("/api/v1/pods") as unknown as readonly Pod[];
      const users = pods.filter(({ spec }) =>
        spec.resourceClaims?.some((each) => each.resourceClaimName === name),
      );
      return resourceClaimObject(
        claim,
        users.map(({ metadata }) => ({ name: metadata.name, uid: metadata.uid })),
      );
    });
  }

  #startPlugin(plugin: SimDevicePlugin): void {
    if (plugin.process.isUp) return;
    plugin.process.start();
    const { name, isWatched } = plugin.resource;
    if (isWatched) {
      this.#deps.sockets.addSocket(socketOf(name), {
        type: "DevicePlugin",
        name,
        endpoint: socketOf(name),
        supportedVersions: ["v1beta1"],
      });
    } else void this.#register(plugin, this.#registration);
  }

  #startDriver(driver: SimDraDriver): void {
    if (driver.isUp) return;
    driver.start();
    const { name } = driver;
    this.#deps.sockets.addSocket(socketOf(name), {
      type: "DRAPlugin",
      name,
      endpoint: socketOf(name),
      supportedVersions: ["v1.DRAPlugin"],
    });
  }

  /** Its socket may stay, as that of a plugin that was killed. */
  killPlugin(plugin: SimDevicePlugin, isSocketLeft: boolean): void {
    plugin.process.die();
    if (!isSocketLeft) this.#deps.sockets.remove(socketOf(plugin.resource.name));
  }

  killDriver(driver: SimDraDriver, isSocketLeft: boolean): void {
    driver.die();
    if (!isSocketLeft) this.#deps.sockets.remove(socketOf(driver.name));
  }

  /** Nothing goes wrong any more. */
  end(): void {
    this.faults.end();
    this.startAll();
    for (const plugin of this.plugins) plugin.findDevices();
  }

  startAll(): void {
    for (const plugin of this.plugins) this.#startPlugin(plugin);
    for (const driver of this.drivers) this.#startDriver(driver);
  }

  /** Some CPUs can be had exclusively, and pods may have claims, as where a kubelet was started. */
  settings(settings: AgentSettings): AgentSettings {
    const { node } = settings;
    const { admission } = node;
    const amounts = { ...admission.node.status?.allocatable, cpu: String(allocatableCpus) };
    const status = { ...admission.node.status, allocatable: amounts };
    return {
      ...settings,
      node: {
        ...node,
        admission: { ...admission, fieldRules: "kubelet", node: { ...admission.node, status } },
        managers: this.#managers,
      },
    };
  }

  /** What an agent sees of it. */
  bind(ports: AgentPorts): AgentPorts {
    const { clock } = this.#deps.machine;
    return {
      ...ports,
      pluginSockets: this.#deps.sockets,
      devicePlugins: {
        serve: async (_, registration) => {
          this.#registration = registration;
          for (const plugin of this.plugins) {
            if (!plugin.resource.isWatched) void this.#register(plugin, registration);
          }
          return { close: async () => undefined };
        },
        connect: async (socketPath, signal) => {
          const plugin = this.plugins.find(({ resource }) =>
            [socketOf(resource.name), ownSocketOf(resource.name)].includes(socketPath),
          );
          if (plugin?.process.isUp !== true) await clock.sleep(registrationMs, signal);
          if (plugin?.process.isUp === true) return plugin.connect();
          throw new Error("failed to dial device plugin: context deadline exceeded");
        },
      },
      draPlugins: {
        connect: (socketPath, _, onConnected) => {
          const driver = this.drivers.find(({ name }) => socketOf(name) === socketPath);
          if (driver === undefined) throw new Error(`nothing is at ${socketPath}`);
          return driver.connect(onConnected);
        },
      },
    };
  }

  /** Tries until it has worked, the plugin dies, or another agent serves. */
  async #register(
    { resource, process }: SimDevicePlugin,
    registration: DevicePluginRegistration | undefined,
  ): Promise<void> {
    const { clock } = this.#deps.machine;
    const { death } = process;
    if (death === undefined || registration === undefined) return;
    const pause = (ms: number): Promise<void> => clock.sleep(ms, death).catch(() => undefined);
    await pause(20);
    while (!death.aborted && registration === this.#registration) {
      const given = new AbortController();
      const timer = clock.startTimer(registrationMs, () => given.abort());
      const { name } = resource;
      const request = { version: "v1beta1", resourceName: name, endpoint: fileOf(name) };
      const answer = registration.register(request, given.signal).then(
        () => true,
        () => false,
      );
      const late = new Promise<false>((resolve) => {
        given.signal.addEventListener("abort", () => resolve(false), { once: true });
      });
      const isRegistered = await Promise.race([answer, late]);
      timer.stop();
      if (isRegistered) return;
      await pause(registrationPauseMs);
    }
  }

  #noteCall(call: DraCall): void {
    this.#deps.note(`dra ${call.kind} ${call.claimUid} by ${call.driver}`);
    this.#deps.check(() => this.rules.noteCall(call));
  }
}

function randomManagers(dice: Dice): AgentSettings["node"]["managers"] {
  const { cpu, topology } = defaultManagerOptions;
  const options = dice.pick([{}, {}, { "full-pcpus-only": "true" }]);
  const policy = dice.pick(["none", "best-effort", "restricted", "single-numa-node"]);
  return managerSettings(
    {
      ...defaultManagerOptions,
      cpu: { ...cpu, policy: "static", options },
      topology: { ...topology, policy },
    },
    smallTopology,
    cpuReservation,
  );
}

function fileOf(name: string): string {
  return `${name.replaceAll("/", "-")}.sock`;
}

function socketOf(name: string): string {
  return `${registryFolder}/${fileOf(name)}`;
}

function ownSocketOf(name: string): string {
  return `${ownSocketFolder}/${fileOf(name)}`;
}
