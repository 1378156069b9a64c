import { compareText } from "../../../src/lib/compare-text.ts";
import { byName } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";
import { VolumeWorld, type VolumeWorldInput } from "../volume-world.ts";

export const volumeOperationMetrics: VectorDomain = vectorDomain<VolumeWorldInput>(
  "volume-operation-metrics",
  async (input) => {
    const world = new VolumeWorld(input);
    await world.open();
    for (const step of input.steps) await world.step(step);
    world.close();
    const metrics = [...world.counts].flatMap(([key, count]) => {
      const [name, labels] = JSON.parse(key) as [string, [string, string][]];
      const isAsked = labels.some(([, value]) => /NodeGet(?:Capabilities|Info)$/.test(value));
      return isAsked ? [] : [{ count, labels: Object.fromEntries(labels), name }];
    });
    return { metrics };
  },
  inOrder,
);

function inOrder(value: unknown): unknown {
  const { metrics } = value as { readonly metrics: readonly object[] | null };
  return {
    metrics: (metrics ?? [])
      .map((metric) => Object.fromEntries(byName(metric)))
      .toSorted((a, b) => compareText(order(a), order(b))),
  };
}

function order({ name, labels }: Record<string, unknown>): string {
  return JSON.stringify([name, byName(labels as object)]);
}
