import { err, ok, type Result } from "../../lib/result.ts";
import type { CSIDriver, Secret, VolumeAttachment } from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { CsiObjects } from "../../ports/csi-objects.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import { namespacedPath, type ReadObjectDeps, readObject } from "./read-object.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ApiCsiObjectsDeps extends ReadObjectDeps {
  /** Of all CSIDriver objects: there are few. */
  readonly csiDrivers: Reflector<CSIDriver>;
}

/** What CSI volumes need of a cluster. A node may read the attachments to it, and the secrets that volumes of its pods name. */
export class ApiCsiObjects implements CsiObjects {
  readonly #deps: ApiCsiObjectsDeps;

  constructor(deps: ApiCsiObjectsDeps) {
    this.#deps = deps;
  }

  csiDriver(name: string): Result<CSIDriver | undefined, string> {
    const { csiDrivers } = this.#deps;
    if (csiDrivers.isSynced) return ok(csiDrivers.items.get(name));
    const reason = csiDrivers.failure === undefined ? "" : `: ${csiDrivers.failure}`;
    return err(`failed to wait for cache sync for CSIDriverLister${reason}`);
  }

  volumeAttachment(
    name: string,
    signal: AbortSignal,
  ): Promise<Result<VolumeAttachment, LookUpFailure>> {
    const collection = "/apis/storage.k8s.io/v1/volumeattachments";
    return readObject(this.#deps, `${collection}/${encodeURIComponent(name)}`, signal);
  }

  secret(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Result<Secret, LookUpFailure>> {
    return readObject(this.#deps, namespacedPath("secrets", { namespace, name }), signal);
  }
}

export interface CsiDriverReflectorDeps
  extends Pick<ReflectorOptions<CSIDriver>, "api" | "clock" | "random" | "log"> {
  readonly wakeups: Pick<Wakeups, "noteCsiDrivers">;
}

/** Follows the CSIDriver objects, and notifies those that depend on one. */
export function csiDriverReflector(deps: CsiDriverReflectorDeps): Reflector<CSIDriver> {
  return new Reflector<CSIDriver>({
    ...deps,
    path: "/apis/storage.k8s.io/v1/csidrivers",
    sink: { deliver: (_, changed) => deps.wakeups.noteCsiDrivers([...changed]) },
  });
}
