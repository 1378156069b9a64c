import type { Result } from "../../lib/result.ts";

/** The kinds of plugins that a kubelet takes. */
export type PluginType = "CSIPlugin" | "DevicePlugin" | "DRAPlugin";

/** A plugin as its handler sees it. */
export interface OfferedPlugin {
  readonly name: string;
  /** The socket at which it serves. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** Takes the plugins of one type. For one socket these are called one after the other, each with its result first. */
export interface PluginHandler {
  /** Refuses what can never be registered; the text goes to the plugin. */
  validate(plugin: OfferedPlugin): Result<void, string>;
  /** The plugin was validated; a refusal is retried with a growing pause. */
  register(plugin: OfferedPlugin, signal: AbortSignal): Promise<Result<void, string>>;
  /** The socket of a registered plugin is gone, or the plugin could not be notified. */
  deregister(plugin: Pick<OfferedPlugin, "name" | "endpoint">, signal: AbortSignal): Promise<void>;
}
