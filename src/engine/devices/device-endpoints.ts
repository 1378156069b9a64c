import type { DeviceAnswer, DeviceCall } from "../../core/devices/plugin/device-calls.ts";
import type { PluginDevice } from "../../core/devices/plugin/device-inventory.ts";
import {
  optionsProblem,
  registrationProblem,
  watchedPluginProblem,
} from "../../core/devices/plugin/register-plugin.ts";
import { withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { cleanPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { Device, RegisterRequest } from "../../model/generated/device-plugin.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DevicePluginClient, DevicePlugins } from "../../ports/device-plugins.ts";
import type { Log } from "../../ports/log.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { OfferedPlugin, PluginHandler } from "../plugins/plugin-handler.ts";
import type { DeviceStore } from "./device-store.ts";
import type { ManagerMetrics } from "./manager-metrics.ts";

/** The kubelet's. */
const preStartTimeoutMs = 30_000;
/** A kubelet waits forever, and with it every pod; here, pods with devices wait. */
const allocateTimeoutMs = 120_000;

export interface DeviceEndpointsDeps {
  readonly store: DeviceStore;
  readonly devicePlugins: DevicePlugins;
  readonly managerMetrics: Pick<ManagerMetrics, "noteRegistration" | "measureAllocation">;
  readonly clock: Clock;
  readonly log: Log;
  readonly wakeups: Pick<Wakeups, "look" | "updateNode">;
  readonly lifetime: AbortSignal;
}

type PluginCall = Exclude<DeviceCall, { readonly method: "SaveCheckpoint" }>;

interface Connection {
  readonly client: DevicePluginClient;
  readonly socketPath: string;
  readonly end: AbortController;
}

/** The device plugins that are connected: they register at the agent's socket, or their sockets are found among those of all plugins. */
export class DeviceEndpoints implements PluginHandler {
  readonly #deps: DeviceEndpointsDeps;
  readonly #connections = new Map<string, Connection>();

  constructor(deps: DeviceEndpointsDeps) {
    this.#deps = deps;
  }

  /** Serves the socket at which plugins register, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { devicePlugins, store } = this.#deps;
    const socketPath = `${store.folder}/kubelet.sock`;
    const server = await devicePlugins.serve(socketPath, {
      register: (request, cancelled) => this.#registerCaller(request, cancelled),
    });
    await untilAborted(new Promise<never>(() => undefined), signal).catch(() => undefined);
    for (const [, { client, end }] of this.#connections) {
      end.abort();
      client.close();
    }
    await server.close();
  }

  validate({ name, supportedVersions }: OfferedPlugin): Result<void, string> {
    const problem = watchedPluginProblem(name, supportedVersions);
    return problem === undefined ? ok(undefined) : err(problem);
  }

  async register(
    { name, endpoint }: OfferedPlugin,
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    try {
      await this.#connect(name, endpoint, signal);
      return ok(undefined);
    } catch (error) {
      signal.throwIfAborted();
      return err(errorText(error));
    }
  }

  async deregister({ name, endpoint }: Pick<OfferedPlugin, "name" | "endpoint">): Promise<void> {
    const connection = this.#connections.get(name);
    if (connection?.socketPath === endpoint) this.#noteGone(name, connection);
  }

  async #registerCaller(
    { version = "", endpoint = "", resourceName = "" }: RegisterRequest,
    signal: AbortSignal,
  ): Promise<void> {
    this.#deps.managerMetrics.noteRegistration(resourceName);
    const problem = registrationProblem(version, resourceName);
    if (problem !== undefined) throw new Error(problem);
    const { folder } = this.#deps.store;
    await this.#connect(resourceName, cleanPath(`${folder}/${endpoint}`), signal);
  }

  async #connect(resource: string, socketPath: string, signal: AbortSignal): Promise<void> {
    const { devicePlugins, store, log } = this.#deps;
    const client = await devicePlugins.connect(socketPath, signal);
    const options = await client.getOptions(signal).catch((error: unknown) => {
      client.close();
      throw new Error(optionsProblem(runtimeErrorText(error)), { cause: error });
    });
    // The last one that registers for a resource serves it.
    const before = this.#connections.get(resource);
    const connection = { client, socketPath, end: new AbortController() };
    this.#connections.set(resource, connection);
    before?.end.abort();
    before?.client.close();
    store.manager.inventory.connect(resource, options);
    log.info("a device plugin is connected", { resource, socket: socketPath });
    void this.#follow(resource, connection);
  }

  /** Takes what the plugin reports until it is gone or another one takes its place. */
  async #follow(resource: string, connection: Connection): Promise<void> {
    const { client, end } = connection;
    try {
      await client.listAndWatch((devices) => {
        if (this.#connections.get(resource) === connection) this.#update(resource, devices);
      }, end.signal);
    } catch (error) {
      const fields = { resource, error: runtimeErrorText(error) };
      if (!end.signal.aborted) this.#deps.log.warn("a device plugin is gone", fields);
    }
    this.#noteGone(resource, connection);
  }

  #noteGone(resource: string, connection: Connection): void {
    const { store, clock, wakeups, lifetime } = this.#deps;
    if (this.#connections.get(resource) !== connection || lifetime.aborted) return;
    this.#connections.delete(resource);
    connection.end.abort();
    connection.client.close();
    store.manager.inventory.disconnect(resource, clock.monotonicMs());
    wakeups.updateNode();
  }

  #update(resource: string, devices: readonly Device[]): void {
    const { store, wakeups } = this.#deps;
    const { inventory } = store.manager;
    const before = inventory.devices(resource).size;
    const healthyBefore = inventory.healthy(resource)?.size;
    const changed = store.manager.updateDevices(resource, devices.map(pluginDevice));
    void store.trySave();
    for (const uid of changed) wakeups.look(uid);
    const isSame =
      before === inventory.devices(resource).size &&
      healthyBefore === inventory.healthy(resource)?.size;
    if (!isSame) wakeups.updateNode();
  }

  /** Asks a plugin; never rejects. */
  async call(call: PluginCall): Promise<DeviceAnswer> {
    const { clock, lifetime, managerMetrics } = this.#deps;
    const { method: what, resource } = call;
    const client = this.#connections.get(resource)?.client;
    if (client === undefined) return { kind: "failed", error: `endpoint ${resource} is gone` };
    const ms = what === "PreStartContainer" ? preStartTimeoutMs : allocateTimeoutMs;
    const send = (): Promise<DeviceAnswer> =>
      withDeadline(clock, { ms, what }, lifetime, (signal) => callPlugin(client, call, signal));
    try {
      return await (what === "Allocate"
        ? managerMetrics.measureAllocation(resource, send)
        : send());
    } catch (error) {
      return { kind: "failed", error: runtimeErrorText(error) };
    }
  }
}

async function callPlugin(
  client: DevicePluginClient,
  call: PluginCall,
  signal: AbortSignal,
): Promise<DeviceAnswer> {
  switch (call.method) {
    case "GetPreferredAllocation": {
      const request = {
        availableDeviceIDs: call.available,
        mustIncludeDeviceIDs: call.mustInclude,
        allocationSize: call.size,
      };
      const { containerResponses = [] } = await client.getPreferredAllocation(
        { containerRequests: [request] },
        signal,
      );
      return { kind: "preferred", deviceIds: containerResponses[0]?.deviceIDs ?? [] };
    }
    case "Allocate": {
      const request = { containerRequests: [{ devicesIds: call.deviceIds }] };
      const { containerResponses = [] } = await client.allocate(request, signal);
      return { kind: "allocated", responses: containerResponses };
    }
    case "PreStartContainer":
      await client.preStartContainer({ devicesIds: call.deviceIds }, signal);
      return { kind: "done" };
  }
}

function pluginDevice({ ID = "", health = "", topology }: Device): PluginDevice {
  return { id: ID, health, nodes: topology?.nodes?.map((node) => Number(node.ID ?? 0n)) };
}
