import { planContainerGc } from "../../../src/core/collect/container-gc.ts";
import { ContainerState } from "../../../src/model/generated/cri.ts";
import { runtimeContainerId } from "../../../src/model/ids.ts";
import { podUidLabel } from "../../../src/model/labels.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface GcContainer {
  readonly id: string;
  readonly name: string;
  readonly podUID: string;
  readonly state: keyof typeof ContainerState;
  readonly ageSeconds: number;
  readonly podContentShouldBeRemoved: boolean;
  readonly podRuntimeShouldBeRemoved: boolean;
}

interface Input {
  readonly allSourcesReady: boolean;
  readonly evictNonDeletedPods: boolean;
  readonly policy: {
    readonly minAgeSeconds: number;
    readonly maxPerPodContainer: number;
    readonly maxContainers: number;
  };
  readonly containers: readonly GcContainer[] | null;
}

const nowMs = 1_700_000_000_000;

export const containerGc: VectorDomain = vectorDomain<Input>("container-gc", (input) => {
  const containers = input.containers ?? [];
  const uidsWhere = (test: (container: GcContainer) => boolean) =>
    new Set(containers.filter(test).map(({ podUID }) => podUID));
  const content = uidsWhere((container) => container.podContentShouldBeRemoved);
  const runtime = uidsWhere((container) => container.podRuntimeShouldBeRemoved);
  const removals = planContainerGc(
    containers.map((container) => ({
      id: container.id,
      metadata: { name: container.name },
      state: ContainerState[container.state],
      createdAt: BigInt(nowMs - container.ageSeconds * 1000) * 1_000_000n,
      labels: { [podUidLabel]: container.podUID },
    })),
    {
      isContentRemovable: (uid) => content.has(uid),
      areLogsRemovable: (uid) => content.has(uid),
      isRuntimeRemovable: (uid) => runtime.has(uid),
    },
    {
      allSourcesReady: input.allSourcesReady,
      evictNonDeletedPods: input.evictNonDeletedPods,
      policy: {
        minAgeMs: input.policy.minAgeSeconds * 1000,
        maxPerContainer: input.policy.maxPerPodContainer,
        maxContainers: input.policy.maxContainers,
      },
      nowMs,
    },
  );
  const removed = new Set(removals.map(({ id }) => id));
  return {
    remaining: containers.map(({ id }) => id).filter((id) => !removed.has(runtimeContainerId(id))),
  };
});
