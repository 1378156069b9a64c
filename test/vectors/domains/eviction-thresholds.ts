import { withContainerFsThresholds } from "../../../src/core/eviction/container-fs-thresholds.ts";
import {
  type EvictionStatements,
  parseThresholds,
} from "../../../src/core/eviction/parse-thresholds.ts";
import {
  type FsLayout,
  isHardThreshold,
  thresholdQuantity,
} from "../../../src/core/eviction/threshold.ts";
import { quantityValue, wholeQuantity } from "../../../src/model/quantity.ts";
import { encodeMs, encodeThresholds } from "../eviction-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input extends EvictionStatements, FsLayout {
  readonly capacity: number;
}

export const evictionThresholds: VectorDomain = vectorDomain<Input>(
  "eviction-thresholds",
  (input) => {
    const parsed = parseThresholds({
      evictionHard: input.evictionHard ?? {},
      evictionSoft: input.evictionSoft ?? {},
      evictionSoftGracePeriod: input.evictionSoftGracePeriod ?? {},
      evictionMinimumReclaim: input.evictionMinimumReclaim ?? {},
      enforceNodeAllocatable: input.enforceNodeAllocatable ?? [],
    });
    if (!parsed.ok) return { error: parsed.error };
    const capacity = wholeQuantity(BigInt(input.capacity), "BinarySI");
    const quantities = parsed.value.thresholds.map((threshold) => {
      const kind = isHardThreshold(threshold) ? "hard" : encodeMs(threshold.gracePeriodMs);
      const quantity = thresholdQuantity(threshold.value, capacity);
      return [`${threshold.signal}/${kind}`, String(quantityValue(quantity))];
    });
    const { thresholds, conflict } = withContainerFsThresholds(parsed.value, input);
    return {
      thresholds: encodeThresholds(parsed.value.thresholds),
      quantities: Object.fromEntries(quantities),
      withContainerFs: encodeThresholds(thresholds),
      ...(conflict === undefined ? {} : { containerFsConflict: true }),
    };
  },
);
