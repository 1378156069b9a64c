import type { PodStatus } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { StatusWorld } from "../../kit/status-world.ts";
import { withoutNulls } from "../encodings.ts";
import { setToNow, shownStatus, stepNowMs } from "../set-to-now.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly steps: readonly Step[];
}

type Step = { readonly op: "set"; readonly status: PodStatus } | { readonly op: "terminate" };

export const statusManager: VectorDomain = vectorDomain<Input>("status-manager", (input) => {
  const { pod, steps } = withoutNulls(input);
  const { uid } = pod.metadata;
  let current = 0;
  const world = new StatusWorld({ clock: { nowMs: () => stepNowMs(current) } });
  const { statuses } = world;
  return {
    steps: steps.map((step, index) => {
      current = index;
      const before = world.version(uid);
      if (step.op === "set") statuses.set(pod, step.status);
      else statuses.terminate(pod);
      const status = statuses.get(uid);
      return {
        changed: world.version(uid) > before,
        status: shownStatus(status),
        setToNow: setToNow(status, index),
      };
    }),
  };
});
