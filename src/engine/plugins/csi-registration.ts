import {
  type CsiVersion,
  csiVersionText,
  highestCsiVersion,
  isLower,
} from "../../core/storage/csi/csi-version.ts";
import { csiPluginName } from "../../core/storage/csi/csi-volume.ts";
import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { CsiDrivers } from "../../ports/csi-drivers.ts";
import type { Log } from "../../ports/log.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { CsiNode } from "../node/csi-node.ts";
import type { CsiAllocatable } from "./csi-allocatable.ts";
import type { CsiDriverRegistry } from "./csi-driver-registry.ts";
import { readDriverNodeInfo } from "./driver-node-info.ts";
import type { OfferedPlugin, PluginHandler } from "./plugin-handler.ts";

export interface CsiRegistrationDeps {
  readonly registry: CsiDriverRegistry;
  readonly drivers: CsiDrivers;
  /** Undefined = the node belongs to no cluster. */
  readonly csiNode: CsiNode | undefined;
  readonly allocatable: CsiAllocatable | undefined;
  readonly log: Log;
  readonly wakeups: Pick<Wakeups, "retryVolumesOf">;
}

/** Takes CSI drivers that register themselves. */
export class CsiRegistration implements PluginHandler {
  readonly #deps: CsiRegistrationDeps;

  constructor(deps: CsiRegistrationDeps) {
    this.#deps = deps;
  }

  validate(plugin: OfferedPlugin): Result<void, string> {
    const version = this.#chooseVersion("ValidatePlugin", plugin);
    if (version.ok) return ok(undefined);
    const { name, endpoint } = plugin;
    return err(
      `validation failed for CSI Driver ${name} at endpoint ${endpoint}: ${version.error}`,
    );
  }

  async register(plugin: OfferedPlugin, signal: AbortSignal): Promise<Result<void, string>> {
    const { registry, allocatable, wakeups } = this.#deps;
    const { name, endpoint } = plugin;
    const version = this.#chooseVersion("RegisterPlugin", plugin);
    if (!version.ok) return version;
    if (name === "") return err("driver name is empty");
    registry.set(name, { endpoint, version: version.value });
    const outcome = await this.#install(name, signal);
    if (!outcome.ok) {
      await this.#unregister(name, signal);
      return outcome;
    }
    allocatable?.start(name);
    wakeups.retryVolumesOf(name);
    return outcome;
  }

  /** One that another socket has replaced stays: its endpoint is another one. */
  async deregister(
    { name, endpoint }: Pick<OfferedPlugin, "name" | "endpoint">,
    signal: AbortSignal,
  ): Promise<void> {
    const registered = this.#deps.registry.drivers.get(name);
    if (registered !== undefined && registered.endpoint !== endpoint) return;
    await this.#unregister(name, signal);
  }

  async #install(name: string, signal: AbortSignal): Promise<Result<void, string>> {
    const { registry, drivers, csiNode } = this.#deps;
    try {
      const info = await readDriverNodeInfo({ registry, drivers }, name, signal);
      if (!info.ok) return info;
      return (await csiNode?.installDriver(info.value, signal)) ?? ok(undefined);
    } catch (error) {
      signal.throwIfAborted();
      return err(errorText(error));
    }
  }

  async #unregister(name: string, signal: AbortSignal): Promise<void> {
    const { registry, csiNode, allocatable, log } = this.#deps;
    registry.delete(name);
    allocatable?.stop(name);
    const outcome = await csiNode?.uninstallDriver(name, signal);
    if (outcome?.ok === false) {
      log.warn("cannot remove a csi driver from the node", { driver: name, error: outcome.error });
    }
  }

  #chooseVersion(caller: string, plugin: OfferedPlugin): Result<CsiVersion, string> {
    const { name, supportedVersions } = plugin;
    const failed = `${csiPluginName}: ${caller} for CSI driver ${quoteText(name)} failed.`;
    if (supportedVersions.length === 0) {
      return err(`${failed} Plugin returned an empty list for supported versions`);
    }
    const highest = highestCsiVersion(supportedVersions);
    if (!highest.ok) {
      const listed = `[${supportedVersions.map(quoteText).join(" ")}]`;
      return err(
        `${failed} None of the versions specified ${listed} are supported. err=${highest.error}`,
      );
    }
    const known = this.#deps.registry.drivers.get(name)?.version;
    if (known === undefined || isLower(known, highest.value)) return highest;
    return err(
      `${failed} Another driver with the same name is already registered with a higher supported version: ${quoteText(csiVersionText(known))}`,
    );
  }
}
