import type { Result } from "../lib/result.ts";
import type { Secret } from "../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../model/look-up-failure.ts";

/** Secrets that a volume refers to, as they are now. They may lie in other namespaces than the pod. */
export interface SecretReader {
  secret(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Result<Secret, LookUpFailure>>;
}
