import type { HTTPGetAction } from "../model/generated/kubernetes.ts";
import type { AnyContainer } from "../model/pod.ts";

/** HTTP requests of lifecycle hooks. */
export interface HookHttp {
  /** Rejects unless the server answered, whatever the status; `podIp` is used where the action names no host. */
  get(
    action: HTTPGetAction,
    container: AnyContainer,
    podIp: string,
    signal: AbortSignal,
  ): Promise<void>;
}
