import { compareText } from "../../../src/lib/compare-text.ts";
import { byName } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";
import { VolumeWorld, type VolumeWorldInput } from "../volume-world.ts";

export const volumeReconcile: VectorDomain = vectorDomain<VolumeWorldInput>(
  "volume-reconcile",
  async (input) => {
    const world = new VolumeWorld(input);
    await world.open();
    const steps: unknown[] = [];
    for (const step of input.steps) steps.push(await world.step(step));
    world.close();
    return { steps };
  },
  inOrder,
);

interface Step {
  readonly events?: readonly object[] | null;
  readonly attached?: readonly object[] | null;
  readonly mounted?: readonly object[] | null;
  readonly claimStatusChanges?: unknown;
}

/** Upstream's order of these depends on its maps and threads, and the times of conditions are left out. */
function inOrder(value: unknown): unknown {
  const { steps } = value as { readonly steps: readonly Step[] };
  return {
    steps: steps.map((step) => ({
      ...step,
      events: sorted(step.events),
      attached: sorted(step.attached),
      mounted: sorted(step.mounted),
      claimStatusChanges: withoutTimes(step.claimStatusChanges),
    })),
  };
}

function sorted(objects: readonly object[] | null | undefined): unknown {
  return (objects ?? [])
    .map((object) => Object.fromEntries(byName(object)))
    .toSorted((a, b) => compareText(JSON.stringify(a), JSON.stringify(b)));
}

function withoutTimes(changes: unknown): unknown {
  const text = JSON.stringify(changes ?? {}, (key, field: unknown) =>
    key === "lastProbeTime" || key === "lastTransitionTime" ? undefined : field,
  );
  return JSON.parse(text);
}
