import { withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";

/** An answer that takes longer comes too late for the caller, whose next try asks again. */
export const readLimitMs = 30_000;

export interface ReadObjectDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
}

/**
 * Reads one object by its name. A node may read what its pods refer to, one by one, but list or watch none of it. A failure
 * has the API server's own text.
 */
export async function readObject<T>(
  { api, clock }: ReadObjectDeps,
  path: string,
  signal: AbortSignal,
): Promise<Result<T, LookUpFailure>> {
  const limit = { ms: readLimitMs, what: `GET ${path}` };
  try {
    return ok(
      await withDeadline(clock, limit, signal, (late) =>
        api.send<T>({ method: "GET", path }, late),
      ),
    );
  } catch (error) {
    signal.throwIfAborted();
    const code = isApiStatus(error, 404) ? "not-found" : "failed";
    return err({ code, message: errorText(error) });
  }
}

/** The path of an object; every name is encoded. */
export function namespacedPath(
  resource: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}`;
}
