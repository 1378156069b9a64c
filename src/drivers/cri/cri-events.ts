import { type ContainerEventResponse, ContainerEventType } from "../../model/generated/cri.ts";
import { runtimeContainerId } from "../../model/ids.ts";
import type { RuntimeEvent, RuntimeEvents } from "../../ports/runtime-events.ts";
import { CRI_METHODS } from "./cri-methods.ts";
import type { CriRuntime } from "./cri-runtime.ts";

const STREAM = { method: CRI_METHODS.getContainerEvents, request: {}, metadata: {} };

/** The CRI's own event stream; a runtime without one rejects with Unimplemented. */
export function createCriEvents(runtime: CriRuntime): RuntimeEvents {
  return {
    name: "cri",
    subscribe: (onSubscribed, onEvent, signal) =>
      runtime.subscribe(
        STREAM,
        onSubscribed,
        (message) => {
          const event = decodeEvent(message);
          if (event !== undefined) onEvent(event);
        },
        signal,
      ),
  };
}

const KINDS: ReadonlyMap<ContainerEventType, RuntimeEvent["kind"]> = new Map([
  [ContainerEventType.CONTAINER_CREATED_EVENT, "created"],
  [ContainerEventType.CONTAINER_STARTED_EVENT, "started"],
  [ContainerEventType.CONTAINER_STOPPED_EVENT, "stopped"],
  [ContainerEventType.CONTAINER_DELETED_EVENT, "deleted"],
] as const);

function decodeEvent(message: ContainerEventResponse): RuntimeEvent | undefined {
  const kind = KINDS.get(message.containerEventType ?? ContainerEventType.CONTAINER_CREATED_EVENT);
  const { containerId: id = "" } = message;
  if (id === "" || kind === undefined) return undefined;
  return { containerId: runtimeContainerId(id), kind };
}
