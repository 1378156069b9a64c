import type { HTTPGetAction } from "../model/generated/kubernetes.ts";
import type { AnyContainer } from "../model/pod.ts";

/** HTTP requests of lifecycle hooks. */
export interface HookHttp {
  /**
   * Rejects unless the server answered, whatever the status; `podIp` is used where the action names no host. Answers
   * the host that was asked once more without TLS, because it does not speak it.
   */
  get(
    action: HTTPGetAction,
    container: AnyContainer,
    podIp: string,
    signal: AbortSignal,
  ): Promise<{ readonly plainHost: string } | undefined>;
}
