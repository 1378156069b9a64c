import { withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, type Result } from "../../lib/result.ts";
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
} from "../../model/generated/kubernetes.ts";
import type { PodEvent } from "../../ports/pod-events.ts";
import type { Claims } from "../volumes/claims.ts";
import type { EventSender } from "./event-sender.ts";
import { namespacedPath, type ReadObjectDeps, readLimitMs, readObject } from "./read-object.ts";
import type { Reflector } from "./reflector.ts";

const claims = "persistentvolumeclaims";

export interface ApiClaimsDeps extends ReadObjectDeps {
  /** Of all CSIDriver objects. */
  readonly csiDrivers: Pick<Reflector<CSIDriver>, "items" | "whenSynced">;
  readonly events: Pick<EventSender, "recordAbout">;
}

/** The claims of the cluster that pods of this node refer to, and the persistent volumes behind them. */
export class ApiClaims implements Claims {
  readonly origin = "API server";
  readonly #deps: ApiClaimsDeps;

  constructor(deps: ApiClaimsDeps) {
    this.#deps = deps;
  }

  async claim(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Result<PersistentVolumeClaim, string>> {
    const path = namespacedPath(claims, { namespace, name });
    return withText(await readObject<PersistentVolumeClaim>(this.#deps, path, signal));
  }

  /** Waits for the CSIDriver objects: whether the volume has to be attached depends on its driver's, and must not be guessed. */
  async persistentVolume(
    name: string,
    signal: AbortSignal,
  ): Promise<Result<PersistentVolume, string>> {
    const { clock, csiDrivers } = this.#deps;
    const path = `/api/v1/persistentvolumes/${encodeURIComponent(name)}`;
    const found = await readObject<PersistentVolume>(this.#deps, path, signal);
    if (!found.ok) return withText(found);
    const limit = { ms: readLimitMs, what: "the list of CSIDriver objects" };
    try {
      await withDeadline(clock, limit, signal, (late) => csiDrivers.whenSynced(late));
    } catch (error) {
      signal.throwIfAborted();
      return err(errorText(error));
    }
    return found;
  }

  csiDriver(name: string): CSIDriver | undefined {
    return this.#deps.csiDrivers.items.get(name);
  }

  /** A merge patch of the claim's status; returns the claim as the API server then has it. */
  async patchStatus(
    claim: PersistentVolumeClaim,
    patch: unknown,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    const { api, clock } = this.#deps;
    const path = `${namespacedPath(claims, nameOf(claim))}/status`;
    const request = { method: "PATCH", path, body: patch, patchType: "merge" } as const;
    const limit = { ms: readLimitMs, what: `PATCH ${path}` };
    return await withDeadline(clock, limit, signal, (late) =>
      api.send<PersistentVolumeClaim>(request, late),
    );
  }

  record(claim: PersistentVolumeClaim, event: PodEvent): void {
    const { uid, resourceVersion } = claim.metadata ?? {};
    this.#deps.events.recordAbout(
      {
        kind: "PersistentVolumeClaim",
        apiVersion: "v1",
        ...nameOf(claim),
        uid,
        resourceVersion,
      },
      event,
    );
  }

  recordVolume({ metadata }: PersistentVolume, event: PodEvent): void {
    const { name, uid, resourceVersion } = metadata ?? {};
    this.#deps.events.recordAbout(
      { kind: "PersistentVolume", apiVersion: "v1", name, uid, resourceVersion },
      event,
    );
  }
}

function nameOf({ metadata }: PersistentVolumeClaim): {
  readonly namespace: string;
  readonly name: string;
} {
  return { namespace: metadata?.namespace ?? "default", name: metadata?.name ?? "" };
}

function withText<T>(found: Result<T, { readonly message: string }>): Result<T, string> {
  return found.ok ? found : err(found.error.message);
}
