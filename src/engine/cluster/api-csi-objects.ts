import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { CSIDriver, Secret, VolumeAttachment } from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { CsiObjects } from "../../ports/csi-objects.ts";
import type { Reflector } from "./reflector.ts";

export interface ApiCsiObjectsDeps {
  readonly api: ApiClient;
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
    return this.#read(`${collection}/${encodeURIComponent(name)}`, signal);
  }

  secret(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Result<Secret, LookUpFailure>> {
    const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
    return this.#read(`${collection}/${encodeURIComponent(name)}`, signal);
  }

  async #read<T>(path: string, signal: AbortSignal): Promise<Result<T, LookUpFailure>> {
    try {
      return ok(await this.#deps.api.send<T>({ method: "GET", path }, signal));
    } catch (error) {
      signal.throwIfAborted();
      const code = isApiStatus(error, 404) ? "not-found" : "failed";
      return err({ code, message: errorText(error) });
    }
  }
}
