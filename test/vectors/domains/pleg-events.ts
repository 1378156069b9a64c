import {
  diffListings,
  type LifecycleEvent,
  type ListedContainer,
  type ListedPod,
} from "../../../src/core/observe/lifecycle-events.ts";
import { type PodUid, podUid } from "../../../src/model/ids.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly steps: readonly {
    readonly pods:
      | readonly {
          readonly uid: string;
          readonly containers: readonly ListedContainer[] | null;
          readonly sandboxes: readonly ListedContainer[] | null;
        }[]
      | null;
  }[];
}

const eventTypes = {
  started: "ContainerStarted",
  died: "ContainerDied",
  removed: "ContainerRemoved",
} as const;

export const plegEvents: VectorDomain = vectorDomain<Input>("pleg-events", (input) => {
  let known: ReadonlyMap<PodUid, ListedPod> = new Map();
  return {
    steps: input.steps.map((step) => {
      const listing = (step.pods ?? []).map(({ uid, containers, sandboxes }) => ({
        uid: podUid(uid),
        containers: containers ?? [],
        sandboxes: sandboxes ?? [],
      }));
      const { pods, events } = diffListings(known, listing);
      known = pods;
      const encoded = [...events].map(([uid, changes]) => [uid, changes.flatMap(encodeEvent)]);
      return { events: Object.fromEntries(encoded) };
    }),
  };
});

/** The vectors leave out changes to an unclear state. */
function encodeEvent({ kind, containerId }: LifecycleEvent): object[] {
  return kind === "changed" ? [] : [{ type: eventTypes[kind], containerID: containerId }];
}
