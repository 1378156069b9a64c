import type { ContainerRef } from "../../core/devices/topology/container-ref.ts";
import { errorText } from "../../lib/error-text.ts";
import { containerNameLabel, podUidLabel } from "../../model/labels.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";

const retryMs = 1000;

export interface KnownContainersDeps {
  readonly ports: {
    readonly runtime: Pick<ContainerRuntime, "listContainers">;
    readonly clock: Pick<Clock, "sleep">;
    readonly log: Log;
  };
  readonly lifetime: AbortSignal;
}

/** The containers that the runtime has, by their IDs: old state files name them so. Waits for a runtime that does not answer. */
export async function knownContainers({
  ports,
  lifetime,
}: KnownContainersDeps): Promise<ReadonlyMap<string, ContainerRef>> {
  const { runtime, clock, log } = ports;
  for (;;) {
    try {
      const containers = await runtime.listContainers({}, lifetime);
      return new Map(
        containers.map(({ id = "", labels = {} }) => [
          id,
          { podUid: labels[podUidLabel] ?? "", container: labels[containerNameLabel] ?? "" },
        ]),
      );
    } catch (error) {
      lifetime.throwIfAborted();
      log.warn("cannot list containers, trying again", { error: errorText(error) });
      await clock.sleep(retryMs, lifetime);
    }
  }
}
