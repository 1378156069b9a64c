import { evictionMessage } from "../../../src/core/eviction/eviction-message.ts";
import { metThresholds } from "../../../src/core/eviction/met-thresholds.ts";
import { observeSignals } from "../../../src/core/eviction/observations.ts";
import { parseThresholds } from "../../../src/core/eviction/parse-thresholds.ts";
import { rankPods } from "../../../src/core/eviction/rank-pods.ts";
import { type Signal, signalResource } from "../../../src/core/eviction/signal.ts";
import type { FsLayout } from "../../../src/core/eviction/threshold.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { formatQuantity } from "../../../src/model/quantity.ts";
import { withoutNulls } from "../encodings.ts";
import { decodeSummary } from "../eviction-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input extends FsLayout {
  readonly pods: readonly Pod[];
  readonly signal: Signal;
  readonly threshold: string;
  readonly summary: unknown;
}

export const evictionRanking: VectorDomain = vectorDomain<Input>("eviction-ranking", (input) => {
  const { signal } = input;
  const pods = input.pods.map(withoutNulls);
  const summary = decodeSummary(input.summary);
  const statsOf = ({ metadata }: Pod) =>
    summary.pods.findLast(({ podRef }) => podRef.uid === metadata.uid);
  const parsed = parseThresholds({
    evictionHard: { [signal]: input.threshold },
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforceNodeAllocatable: [],
  });
  if (!parsed.ok) return { error: parsed.error };
  const { thresholds } = parsed.value;
  const observations = observeSignals(summary);
  const cause = { resource: signalResource(signal), thresholds, observations };
  return {
    observations: Object.fromEntries(
      [...observations].map(([name, { available, capacity }]) => [
        name,
        { available: formatQuantity(available), capacity: formatQuantity(capacity) },
      ]),
    ),
    order: rankPods(pods, statsOf, signal, input).map(({ metadata }) => metadata.name),
    messages: Object.fromEntries(
      pods.map((pod) => [pod.metadata.name, evictionMessage(pod, statsOf(pod), cause)]),
    ),
    met: metThresholds(thresholds, observations, { withMinReclaim: false }).length > 0,
  };
});
