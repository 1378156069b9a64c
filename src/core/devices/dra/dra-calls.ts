import type { ResourceResourceClaim } from "../../../model/generated/kubernetes.ts";
import type { PreparedDevice } from "./claim-info.ts";
import type { DraPlugin } from "./dra-drivers.ts";

export interface ClaimReference {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** What is asked while claims are prepared and given back. The caller makes the call and passes the answer on. */
export type DraCall =
  | { readonly method: "GetClaim"; readonly namespace: string; readonly name: string }
  | {
      readonly method: "NodePrepareResources" | "NodeUnprepareResources";
      readonly plugin: DraPlugin;
      /** All claims of a pod that concern the driver at once. */
      readonly claims: readonly ClaimReference[];
    }
  | { readonly method: "SaveCheckpoint" };

/** A driver's answer for one claim; an empty error is none. */
export interface DraClaimResult {
  readonly error: string;
  readonly devices: readonly PreparedDevice[];
}

export type DraAnswer =
  | { readonly kind: "claim"; readonly claim: ResourceResourceClaim }
  /** By UID of the claim. */
  | { readonly kind: "results"; readonly results: ReadonlyMap<string, DraClaimResult> }
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly error: string };

/** Yields calls, is resumed with their answers, and returns what came of it. */
export type DraSteps<T> = Generator<DraCall, T, DraAnswer>;
