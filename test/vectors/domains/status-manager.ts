import { StatusManager } from "../../../src/engine/status/status-manager.ts";
import type { PodStatus } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
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
  let current = 0;
  let version = 0;
  const manager = new StatusManager({
    clock: { nowMs: () => stepNowMs(current) },
    pods: { findByUid: () => pod, findMirrorOf: () => undefined },
    onChange: (_pod, _status, newVersion) => {
      version = newVersion;
    },
  });
  return {
    steps: steps.map((step, index) => {
      current = index;
      const before = version;
      if (step.op === "set") manager.setPodStatus(pod, step.status);
      else manager.terminatePod(pod);
      const status = manager.getPodStatus(pod.metadata.uid);
      return {
        changed: version > before,
        status: shownStatus(status),
        setToNow: setToNow(status, index),
      };
    }),
  };
});
