import { type ContainerEventResponse, ContainerEventType } from "../../model/generated/cri.ts";
import { runtimeContainerId } from "../../model/ids.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { RuntimeEvent, RuntimeEvents } from "../../ports/runtime-events.ts";
import { CRI_METHODS } from "./cri-methods.ts";
import type { CriRuntime } from "./cri-runtime.ts";

const STREAM = { method: CRI_METHODS.getContainerEvents, request: {}, metadata: {} };

/** The CRI's own event stream; a runtime without one that can be relied on rejects with Unimplemented. */
export function createCriEvents(runtime: CriRuntime): RuntimeEvents {
  return {
    name: "cri",
    subscribe: async (onSubscribed, onEvent, signal) => {
      await requireWholeStream(runtime, signal);
      await runtime.subscribe(
        STREAM,
        onSubscribed,
        (message) => {
          const event = decodeEvent(message);
          if (event !== undefined) onEvent(event);
        },
        signal,
      );
    },
  };
}

/**
 * containerd 1.7 hands each event to one subscriber, and the next one to a subscriber that is gone: the first container
 * that ends after a restart of the agent would go unnoticed until the next listing.
 */
async function requireWholeStream(runtime: CriRuntime, signal: AbortSignal): Promise<void> {
  const { runtimeName, runtimeVersion = "" } = await runtime.version(signal);
  if (runtimeName !== "containerd" || !/^v?1\./.test(runtimeVersion)) return;
  const message = `containerd ${runtimeVersion} does not hand every event to every subscriber`;
  throw new RuntimeError("GetContainerEvents", "Unimplemented", message);
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
