import { quoteText } from "../../lib/go-text.ts";
import { type VolumeSpec, volumeSpecName } from "./volume-spec.ts";

/** What an event says about an operation on a volume. */
export function volumeMessage(
  prefix: string,
  { spec }: { readonly spec: VolumeSpec },
  suffix: string,
): string {
  return `${prefix} for volume ${quoteText(volumeSpecName(spec))} ${suffix}`;
}

/** What a pod waits for that its volumes keep from starting; names as its spec has them. */
export interface MissingVolumes {
  readonly unmounted: readonly string[];
  readonly unattached: readonly string[];
  /** Those whose claims could not be resolved. */
  readonly unresolved: readonly string[];
}

export function missingVolumesText(missing: MissingVolumes, cause: string): string {
  const { unmounted, unattached, unresolved } = missing;
  const list = (names: readonly string[]): string => `[${names.join(" ")}]`;
  return `unmounted volumes=${list(unmounted)}, unattached volumes=${list(unattached)}, failed to process volumes=${list(unresolved)}: ${cause}`;
}

export function attachLimitText(missing: MissingVolumes, cause: string): string {
  return `Node has reached its volume attachment limit, rejecting pod. ${missingVolumesText(missing, cause)}`;
}
