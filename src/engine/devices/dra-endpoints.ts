import type { ReportedHealth } from "../../core/devices/dra/device-health.ts";
import type {
  ClaimReference,
  DraAnswer,
  DraClaimResult,
} from "../../core/devices/dra/dra-calls.ts";
import { DraDrivers, type DraPlugin } from "../../core/devices/dra/dra-drivers.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Device, NodePrepareResourceResponse } from "../../model/generated/dra.ts";
import { type DeviceHealth, HealthStatus } from "../../model/generated/dra-health.ts";
import { RuntimeError, runtimeErrorText } from "../../model/runtime-error.ts";
import type { DraPluginClient, DraPlugins } from "../../ports/dra-plugins.ts";
import type { OfferedPlugin, PluginHandler } from "../plugins/plugin-handler.ts";
import type { ManagerMetrics } from "./manager-metrics.ts";
import { type ResourceSlicesDeps, wipeResourceSlices } from "./resource-slices.ts";

/** For how long a driver may be away before its devices are taken from the scheduler. */
const wipeAfterMs = 30_000;
const healthRetryMs = 5000;

export interface DraEndpointsDeps extends ResourceSlicesDeps {
  readonly draPlugins: DraPlugins;
  readonly managerMetrics: Pick<ManagerMetrics, "measureDriver">;
  readonly lifetime: AbortSignal;
}

/** Gets what drivers report of their devices. */
export interface HealthSink {
  noteHealth(driver: string, reports: readonly ReportedHealth[]): void;
  /** Nothing is known of the driver's devices any more. */
  noteHealthEnd(driver: string): void;
}

interface Connection {
  readonly client: DraPluginClient;
  readonly end: AbortController;
}

/** The DRA drivers of this node: they are found among all plugins, and called for the claims of pods. */
export class DraEndpoints implements PluginHandler {
  readonly drivers: DraDrivers = new DraDrivers();
  readonly #deps: DraEndpointsDeps;
  readonly #connections = new Map<string, Connection>();
  /** By driver: ends the wait after which its slices are deleted. */
  readonly #wipes = new Map<string, AbortController>();
  #sink: HealthSink | undefined;

  constructor(deps: DraEndpointsDeps) {
    this.#deps = deps;
  }

  /** Deletes the slices of all drivers: none has registered yet. Passes what they report to the sink. */
  async run(sink: HealthSink, signal: AbortSignal): Promise<void> {
    this.#sink = sink;
    await wipeResourceSlices(this.#deps, undefined, signal);
  }

  validate({ name, endpoint, supportedVersions }: OfferedPlugin): Result<void, string> {
    const problem = this.drivers.validate(name, endpoint, supportedVersions);
    return problem === undefined ? ok(undefined) : err(problem);
  }

  async register({
    name,
    endpoint,
    supportedVersions,
  }: OfferedPlugin): Promise<Result<void, string>> {
    const plugin = this.drivers.register(name, endpoint, supportedVersions);
    if (!plugin.ok) return plugin;
    const client = this.#deps.draPlugins.connect(endpoint, plugin.value.service, (isConnected) => {
      this.drivers.setConnected(name, endpoint, isConnected);
      this.#noteUsable(name);
    });
    const connection = { client, end: new AbortController() };
    this.#connections.set(keyOf(name, endpoint), connection);
    void this.#watchHealth(name, connection);
    return ok(undefined);
  }

  async deregister({ name, endpoint }: Pick<OfferedPlugin, "name" | "endpoint">): Promise<void> {
    const connection = this.#connections.get(keyOf(name, endpoint));
    this.#connections.delete(keyOf(name, endpoint));
    connection?.end.abort();
    connection?.client.close();
    this.drivers.deregister(name, endpoint);
    this.#noteUsable(name);
  }

  /** A driver that comes back in time keeps its slices. */
  #noteUsable(driver: string): void {
    const { clock, lifetime } = this.#deps;
    if (this.drivers.isUsable(driver)) {
      this.#wipes.get(driver)?.abort();
      this.#wipes.delete(driver);
      return;
    }
    if (this.#wipes.has(driver) || lifetime.aborted) return;
    const end = new AbortController();
    this.#wipes.set(driver, end);
    const wipe = async (): Promise<void> => {
      await clock.sleep(wipeAfterMs, end.signal);
      await wipeResourceSlices(this.#deps, driver, end.signal);
    };
    // Aborted: the driver is back.
    wipe()
      .catch(() => undefined)
      .finally(() => {
        if (this.#wipes.get(driver) === end) this.#wipes.delete(driver);
      });
  }

  async #watchHealth(driver: string, { client, end }: Connection): Promise<void> {
    const { clock, log } = this.#deps;
    while (!end.signal.aborted) {
      try {
        await client.watchHealth(
          (devices) => this.#sink?.noteHealth(driver, devices.map(reportedHealth)),
          end.signal,
        );
      } catch (error) {
        // Most drivers do not report it.
        if (error instanceof RuntimeError && error.code === "Unimplemented") return;
        log.debug("a driver's reports of health have ended", {
          driver,
          error: runtimeErrorText(error),
        });
      }
      this.#sink?.noteHealthEnd(driver);
      await clock.sleep(healthRetryMs, end.signal).catch(() => undefined);
    }
  }

  /** Asks a driver about claims; never rejects. */
  async call(
    method: "NodePrepareResources" | "NodeUnprepareResources",
    plugin: DraPlugin,
    claims: readonly ClaimReference[],
  ): Promise<DraAnswer> {
    const { driver, endpoint } = plugin;
    const client = this.#connections.get(keyOf(driver, endpoint))?.client;
    if (client === undefined) return { kind: "failed", error: `DRA driver ${driver} is gone` };
    const { lifetime, managerMetrics } = this.#deps;
    try {
      const { claims: answers = {} } = await managerMetrics.measureDriver(plugin, method, () =>
        method === "NodePrepareResources"
          ? client.nodePrepareResources({ claims }, lifetime)
          : client.nodeUnprepareResources({ claims }, lifetime),
      );
      return { kind: "results", results: resultsOf(answers) };
    } catch (error) {
      return { kind: "failed", error: runtimeErrorText(error) };
    }
  }
}

function keyOf(driver: string, endpoint: string): string {
  return `${driver} ${endpoint}`;
}

function resultsOf(
  answers: Readonly<Record<string, NodePrepareResourceResponse>>,
): ReadonlyMap<string, DraClaimResult> {
  return new Map(
    Object.entries(answers).map(([uid, { error = "", devices = [] }]) => [
      uid,
      { error, devices: devices.map(preparedDevice) },
    ]),
  );
}

function preparedDevice({
  poolName = "",
  deviceName = "",
  requestNames = [],
  cdiDeviceIds = [],
  shareId,
}: Device): DraClaimResult["devices"][number] {
  const device = { pool: poolName, device: deviceName, shareId };
  return { ...device, requests: requestNames, cdiDevices: cdiDeviceIds };
}

const healthNames = {
  [HealthStatus.UNKNOWN]: "Unknown",
  [HealthStatus.HEALTHY]: "Healthy",
  [HealthStatus.UNHEALTHY]: "Unhealthy",
} as const;

function reportedHealth({
  device,
  health = HealthStatus.UNKNOWN,
  message = "",
  healthCheckTimeoutSeconds = 0n,
}: DeviceHealth): ReportedHealth {
  return {
    pool: device?.poolName ?? "",
    device: device?.deviceName ?? "",
    health: healthNames[health] ?? "Unknown",
    message,
    timeoutSeconds: Number(healthCheckTimeoutSeconds),
  };
}
