import { EventCorrelator } from "../../../src/core/event/event-correlator.ts";
import type { Event } from "../../../src/model/generated/kubernetes.ts";
import { withoutNulls } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly options?: {
    readonly burstSize?: number;
    readonly qps?: string;
    readonly maxEvents?: number;
    readonly maxIntervalInSeconds?: number;
  };
  readonly steps: readonly { readonly now: number; readonly event: Event }[];
}

/** When the steps' seconds begin. */
const startMs = Date.UTC(2026, 4, 4, 10);

export const eventCorrelation: VectorDomain = vectorDomain<Input>(
  "event-correlation",
  ({ options = {}, steps }) => {
    const { burstSize, qps, maxEvents, maxIntervalInSeconds } = options;
    const correlator = new EventCorrelator({
      ...(burstSize === undefined ? {} : { burst: burstSize }),
      ...(qps === undefined ? {} : { perSecond: Number(qps) }),
      ...(maxEvents === undefined ? {} : { similarEvents: maxEvents }),
      ...(maxIntervalInSeconds === undefined ? {} : { similarSeconds: maxIntervalInSeconds }),
    });
    return {
      steps: steps.map(({ now, event }) => {
        const nowNs = BigInt(startMs + now * 1000) * 1_000_000n;
        const correlated = correlator.correlate(withoutNulls(event), nowNs);
        if (correlated.kind === "skip") return { skip: true };
        correlator.recorded(correlated.event);
        const { kind, ...rest } = correlated;
        return { skip: false, action: kind, ...rest };
      }),
    };
  },
);
