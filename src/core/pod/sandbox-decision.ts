import type { ObservedPod, ObservedSandbox } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";

export type SandboxDecision =
  | { readonly kind: "keep"; readonly sandboxId: string; readonly attempt: number }
  | {
      readonly kind: "create";
      /** The newest sandbox, where its replacement is announced. */
      readonly sandboxId?: string | undefined;
      readonly attempt: number;
      readonly because: string;
    };

/** Whether the pod's newest sandbox can be used, or a new one is needed. */
export function decideSandbox(pod: Pod, observed: ObservedPod): SandboxDecision {
  const [newest] = observed.sandboxes;
  if (newest === undefined) return { kind: "create", attempt: 0, because: "no sandbox exists" };
  const attempt = newest.attempt + 1;
  const readyCount = observed.sandboxes.filter(({ state }) => state === "ready").length;
  if (readyCount > 1) {
    const because = `${readyCount} sandboxes are ready where one is needed`;
    return { kind: "create", sandboxId: newest.id, attempt, because };
  }
  if (newest.state !== "ready") {
    const because = `sandbox ${newest.id} is not ready`;
    return { kind: "create", sandboxId: newest.id, attempt, because };
  }
  const wantedNetwork = pod.spec.hostNetwork === true ? "node" : "pod";
  if (newest.network !== wantedNetwork) {
    const because = `sandbox ${newest.id} has the ${newest.network}'s network and the pod asks for the ${wantedNetwork}'s`;
    return { kind: "create", attempt, because };
  }
  if (wantedNetwork === "pod" && hasNoAddress(newest)) {
    const because = `sandbox ${newest.id} has no IP address`;
    return { kind: "create", sandboxId: newest.id, attempt, because };
  }
  return { kind: "keep", sandboxId: newest.id, attempt: newest.attempt };
}

/** A runtime that reports no network status at all may still have given an address. */
function hasNoAddress({ ips }: ObservedSandbox): boolean {
  return ips !== undefined && (ips[0] ?? "") === "";
}
