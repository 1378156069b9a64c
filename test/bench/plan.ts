// Pod plans per second on one core, over upstream's pod states. `node tools/run.mjs test/bench/plan.ts [SECONDS]`
import type { PlanPodInput } from "../../src/core/pod/plan-input.ts";
import { planPod } from "../../src/core/pod/plan-pod.ts";
import { loadVectorFile } from "../vectors/load-vectors.ts";
import { decodeInput, type EncodedPlanInput } from "../vectors/pod-actions.ts";

const domains = ["compute-pod-actions", "compute-pod-actions-enum", "compute-pod-actions-resize"];
const secondsPerDomain = Number(process.argv[2] ?? 2);

const rows = domains.map((domain) => {
  const { vectors } = loadVectorFile(`test/vectors/dev/${domain}.json.gz`);
  const inputs = vectors.map(({ input }) => decodeInput(input as EncodedPlanInput));
  measure(inputs, secondsPerDomain / 4);
  const { plans, steps, seconds } = measure(inputs, secondsPerDomain);
  return {
    inputs: domain,
    states: inputs.length,
    "plans/s": Math.round(plans / seconds),
    "µs/plan": Number(((seconds * 1e6) / plans).toFixed(2)),
    "steps/plan": Number((steps / plans).toFixed(2)),
  };
});
console.table(rows);

function measure(
  inputs: readonly PlanPodInput[],
  wantedSeconds: number,
): { readonly plans: number; readonly steps: number; readonly seconds: number } {
  const startedMs = performance.now();
  let plans = 0;
  let steps = 0;
  let seconds = 0;
  while (seconds < wantedSeconds) {
    for (const input of inputs) steps += planPod(input).steps.length;
    plans += inputs.length;
    seconds = (performance.now() - startedMs) / 1000;
  }
  return { plans, steps, seconds };
}
