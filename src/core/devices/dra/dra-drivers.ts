import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";

// In the order in which upstream prefers and prints them.
const supportedServices = ["v1.DRAPlugin", "v1beta1.DRAPlugin"] as const;

type DraService = (typeof supportedServices)[number];

/** One instance of a DRA driver. During an update two of them may be registered. */
export interface DraPlugin {
  readonly driver: string;
  readonly endpoint: string;
  readonly service: DraService;
  readonly isConnected: boolean;
}

/** The DRA drivers of the node, by the name they registered under. */
export class DraDrivers {
  readonly #plugins = new Map<string, readonly DraPlugin[]>();

  /** Why a plugin cannot be registered. */
  validate(driver: string, endpoint: string, services: readonly string[]): string | undefined {
    const service = chosenService(services);
    return service.ok ? undefined : invalidVersions(driver, endpoint, service.error);
  }

  register(
    driver: string,
    endpoint: string,
    services: readonly string[],
  ): Result<DraPlugin, string> {
    const service = chosenService(services);
    if (!service.ok) return err(invalidVersions(driver, endpoint, service.error));
    const others = this.#plugins.get(driver) ?? [];
    if (others.some((plugin) => plugin.endpoint === endpoint)) {
      return err(`endpoint ${endpoint} already registered for DRA driver plugin ${driver}`);
    }
    const plugin = { driver, endpoint, service: service.value, isConnected: false };
    this.#plugins.set(driver, [...others, plugin]);
    return ok(plugin);
  }

  deregister(driver: string, endpoint: string): void {
    const others = (this.#plugins.get(driver) ?? []).filter(
      (plugin) => plugin.endpoint !== endpoint,
    );
    if (others.length > 0) this.#plugins.set(driver, others);
    else this.#plugins.delete(driver);
  }

  setConnected(driver: string, endpoint: string, isConnected: boolean): void {
    const plugins = this.#plugins.get(driver);
    if (plugins === undefined) return;
    this.#plugins.set(
      driver,
      plugins.map((plugin) => (plugin.endpoint === endpoint ? { ...plugin, isConnected } : plugin)),
    );
  }

  /** Whether any instance can be called. The ResourceSlices of a driver that stays unusable are deleted. */
  isUsable(driver: string): boolean {
    return this.#plugins.get(driver)?.some(({ isConnected }) => isConnected) === true;
  }

  /** The instance to call: the newest that is connected, else the newest. */
  choose(driver: string): Result<DraPlugin, string> {
    if (driver === "") return err("DRA driver name is empty");
    const plugins = this.#plugins.get(driver) ?? [];
    const chosen = plugins.findLast(({ isConnected }) => isConnected) ?? plugins.at(-1);
    return chosen === undefined ? err(`DRA driver ${driver} is not registered`) : ok(chosen);
  }
}

/** The first that the plugin lists and the kubelet knows. */
function chosenService(services: readonly string[]): Result<DraService, string> {
  if (services.length === 0) {
    return err("empty list of supported gRPC services (aka supported versions)");
  }
  for (const service of services) {
    const known = supportedServices.find((supported) => supported === service);
    if (known !== undefined) return ok(known);
  }
  const quoted = (list: readonly string[]): string => `[${list.map(quoteText).join(" ")}]`;
  return err(
    `none of services supported by the plugin (${quoted(services)}) are supported by the kubelet (${quoted(supportedServices)})`,
  );
}

function invalidVersions(driver: string, endpoint: string, problem: string): string {
  return `invalid supported gRPC versions of DRA driver plugin ${driver} at endpoint ${endpoint}: ${problem}`;
}
