import {
  type OperationKey,
  PendingOperations,
} from "../../../src/core/storage/pending-operations.ts";
import { parseTime } from "../../../src/lib/time.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Step {
  readonly op: "start" | "release" | "advance" | "query";
  readonly id?: string;
  readonly volume?: string;
  readonly pod?: string;
  readonly node?: string;
  readonly operation?: string;
  readonly result?: string;
  readonly outcome?: string;
  readonly milliseconds?: number;
}

export const volumeOperations: VectorDomain = vectorDomain<{ readonly steps: readonly Step[] }>(
  "volume-operations",
  ({ steps }) => {
    const operations = new PendingOperations();
    const held = new Map<string, OperationKey>();
    let nowMs = 0;
    const answer = (step: Step): object => {
      const key = keyOf(step);
      const { id = "", operation = "", result = "", outcome } = step;
      switch (step.op) {
        case "start": {
          const started = operations.start(key, operation, nowMs);
          if (!started.ok) {
            const { kind, message } = started.error;
            return { started: false, error: relativeTimes(message), errorKind: kind };
          }
          if (result === "hold") held.set(id, key);
          else operations.finish(key, result === "ok" ? undefined : result, nowMs);
          return { started: true };
        }
        case "release": {
          const heldKey = held.get(id);
          if (heldKey === undefined) return { released: false };
          held.delete(id);
          operations.finish(heldKey, outcome, nowMs);
          return { released: true };
        }
        case "advance":
          nowMs += step.milliseconds ?? 0;
          return {};
        case "query":
          return {
            pending: operations.isPending(key),
            safeToRetry: operations.isSafeToRetry(key, operation, nowMs),
          };
      }
    };
    return { steps: steps.map((step) => ({ at: seconds(nowMs), ...answer(step) })) };
  },
);

function keyOf({ volume = "", pod, node }: Step): OperationKey {
  return {
    volumeName: volume,
    ...(pod === undefined ? {} : { podUid: pod }),
    ...(node === undefined ? {} : { nodeName: node }),
  };
}

/** Rounded as Go rounds: whole seconds and the fraction are added. */
function seconds(ms: number): number {
  return Math.floor(ms / 1000) + (ms % 1000) / 1000;
}

/** The vectors show times as seconds since the start, which is 1970 here. */
function relativeTimes(message: string): string {
  return message.replace(
    /\d{4}-\d\d-\d\dT[\d:.]+Z/g,
    (time) => `<+${seconds(parseTime(time) ?? Number.NaN)}s>`,
  );
}
