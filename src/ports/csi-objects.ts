import type { Result } from "../lib/result.ts";
import type { CSIDriver, Secret, VolumeAttachment } from "../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../model/look-up-failure.ts";

/** The API objects that mounting a CSI volume needs. */
export interface CsiObjects {
  /** As last watched; undefined when there is none, which is usual. Fails until they were listed once. */
  csiDriver(name: string): Result<CSIDriver | undefined, string>;
  /** Read from the API server each time: an attachment that is known from before may be gone. */
  volumeAttachment(
    name: string,
    signal: AbortSignal,
  ): Promise<Result<VolumeAttachment, LookUpFailure>>;
  secret(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Result<Secret, LookUpFailure>>;
}
