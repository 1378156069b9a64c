import { nodeConditions } from "../../../src/core/node/node-conditions.ts";
import type { Node } from "../../../src/model/generated/kubernetes.ts";
import { withoutNulls } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly node: Node;
  readonly now: string;
  readonly memoryPressure: boolean;
  readonly diskPressure: boolean;
  readonly pidPressure: boolean;
  readonly errors: Readonly<Record<"runtime" | "network" | "storage" | "shutdown", string>>;
  readonly softRequirements: string;
  readonly localStorageCapacityIsolation: boolean;
}

export const nodeConditionsDomain: VectorDomain = vectorDomain<Input>(
  "node-conditions",
  ({ node, errors, ...input }) => {
    const { status, metadata } = withoutNulls(node);
    const { runtime, network, storage, shutdown } = errors;
    const { conditions, events } = nodeConditions({
      nodeName: metadata?.name ?? "",
      previous: status?.conditions ?? [],
      health: {
        memoryPressure: input.memoryPressure,
        diskPressure: input.diskPressure,
        pidPressure: input.pidPressure,
        problems: [runtime, network, storage, shutdown].filter((problem) => problem !== ""),
        softProblem: input.softRequirements,
      },
      capacity: status?.capacity,
      localStorageCapacityIsolation: input.localStorageCapacityIsolation,
      now: input.now,
    });
    return { conditions, events: events.map(({ type, reason }) => `${type} ${reason}`) };
  },
);
