import type { HTTPGetAction } from "../model/generated/kubernetes.ts";
import type { PodUid } from "../model/ids.ts";
import type { AnyContainer } from "../model/pod.ts";

/** Whose hook it is. */
interface HookHttpTarget {
  readonly podUid: PodUid;
  readonly container: AnyContainer;
  /** Used where the action names no host. */
  readonly podIp: string;
}

/** HTTP requests of lifecycle hooks. */
export interface HookHttp {
  /**
   * Rejects unless the server answered, whatever the status; then the answer is read as far as a kubelet reads it, and the
   * connection closed. Returns the host that was asked again without TLS, because it does not speak it.
   */
  get(
    action: HTTPGetAction,
    target: HookHttpTarget,
    signal: AbortSignal,
  ): Promise<{ readonly plainHost: string } | undefined>;
}
