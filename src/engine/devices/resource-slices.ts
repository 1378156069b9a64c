import { Backoff } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

const retry = { initialMs: 1000, maxMs: 300_000 };

export interface ResourceSlicesDeps {
  /** Undefined = the node belongs to no cluster. */
  readonly apiServer?: { readonly api: ApiClient } | undefined;
  readonly nodeName: string;
  readonly clock: Pick<Clock, "sleep">;
  readonly log: Log;
}

/**
 * Deletes the ResourceSlices of this node, of one driver or of all, and tries until that has worked: no pod is to be scheduled for
 * devices whose driver is away.
 */
export async function wipeResourceSlices(
  { apiServer, nodeName, clock, log }: ResourceSlicesDeps,
  driver: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (apiServer === undefined) return;
  const fields = [
    `spec.nodeName=${nodeName}`,
    ...(driver === undefined ? [] : [`spec.driver=${driver}`]),
  ];
  const path = "/apis/resource.k8s.io/v1/resourceslices";
  const query = { fieldSelector: fields.toSorted().join(",") };
  const backoff = new Backoff(retry);
  while (!signal.aborted) {
    try {
      await apiServer.api.send({ method: "DELETE", path, query }, signal);
      return;
    } catch (error) {
      // A cluster without that API has no slices.
      if (signal.aborted || isApiStatus(error, 404)) return;
      log.warn("cannot delete resource slices, trying again", { driver, error: errorText(error) });
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    }
  }
}
