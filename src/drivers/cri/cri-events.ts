import { type ContainerEventResponse, ContainerEventType } from "../../model/generated/cri.ts";
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

function decodeEvent(message: ContainerEventResponse): RuntimeEvent | undefined {
  const { containerId = "", containerEventType = ContainerEventType.CONTAINER_CREATED_EVENT } =
    message;
  return containerId === "" ? undefined : { containerId, kind: eventKind(containerEventType) };
}

function eventKind(type: ContainerEventType): RuntimeEvent["kind"] {
  switch (type) {
    case ContainerEventType.CONTAINER_CREATED_EVENT:
      return "created";
    case ContainerEventType.CONTAINER_STARTED_EVENT:
      return "started";
    case ContainerEventType.CONTAINER_STOPPED_EVENT:
      return "stopped";
    case ContainerEventType.CONTAINER_DELETED_EVENT:
      return "deleted";
  }
}
