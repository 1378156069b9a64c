import { cniCapabilities } from "../../core/network/cni-capabilities.ts";
import type { RuntimeHandler } from "../../model/generated/cri.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";

/** What the runtime can do, as it says itself whenever it is asked. */
export class RuntimeFacts {
  readonly #runtime: Pick<ContainerRuntime, "status">;
  readonly #lifetime: AbortSignal;

  constructor(runtime: Pick<ContainerRuntime, "status">, lifetime: AbortSignal) {
    this.#runtime = runtime;
    this.#lifetime = lifetime;
  }

  async readHandlers(): Promise<readonly RuntimeHandler[]> {
    const { runtimeHandlers = [] } = await this.#runtime.status(false, this.#lifetime);
    return runtimeHandlers;
  }

  /** What the plugins of the pod network can do; undefined where the runtime does not say. */
  async readNetworkCapabilities(): Promise<ReadonlySet<string> | undefined> {
    const { info } = await this.#runtime.status(true, this.#lifetime);
    return cniCapabilities(info?.["cniconfig"]);
  }
}
