import {
  ContainerCreate,
  ContainerDelete,
  type Envelope,
  EventsService,
  type SubscribeRequest,
  TaskDelete,
  TaskExit,
  TaskOom,
  TaskStart,
} from "../../generated/containerd-events.ts";
import { runtimeContainerId } from "../../model/ids.ts";
import type { RuntimeEvent, RuntimeEvents } from "../../ports/runtime-events.ts";

/** containerd keeps what the CRI made in this namespace. */
export const CRI_NAMESPACE = "k8s.io";

interface EventStream {
  readonly method: {
    readonly path: string;
    readonly serialize: (request: SubscribeRequest) => Buffer;
    readonly deserialize: (bytes: Buffer) => Envelope;
  };
  readonly request: SubscribeRequest;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A connection to containerd's socket that can subscribe to a stream, as the CRI client can. */
export interface EventStreams {
  subscribe(
    stream: EventStream,
    onSubscribed: () => void,
    onMessage: (message: Envelope) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

const TOPICS = [
  "/tasks/start",
  "/tasks/exit",
  "/tasks/delete",
  "/tasks/oom",
  "/containers/create",
  "/containers/delete",
];

const STREAM: EventStream = {
  method: {
    path: EventsService.subscribe.path,
    serialize: EventsService.subscribe.requestSerialize,
    deserialize: EventsService.subscribe.responseDeserialize,
  },
  request: { filters: TOPICS.map((topic) => `namespace==${CRI_NAMESPACE},topic=="${topic}"`) },
  metadata: { "containerd-namespace": CRI_NAMESPACE },
};

/** containerd's own event stream, which also versions without CRI events have. */
export function createContainerdEvents(streams: EventStreams): RuntimeEvents {
  return {
    name: "containerd",
    subscribe: (onSubscribed, onEvent, signal) =>
      streams.subscribe(
        STREAM,
        onSubscribed,
        (envelope) => {
          const event = decodeEvent(envelope);
          if (event !== undefined) onEvent(event);
        },
        signal,
      ),
  };
}

/** Undefined for what says nothing about a container, such as the end of a process started in one by exec. */
export function decodeEvent(envelope: Envelope): RuntimeEvent | undefined {
  const payload = envelope.event?.value ?? Buffer.alloc(0);
  switch (envelope.topic) {
    case "/tasks/start":
      return {
        containerId: runtimeContainerId(TaskStart.decode(payload).containerId),
        kind: "started",
      };
    case "/tasks/exit":
      return stopped(TaskExit.decode(payload));
    case "/tasks/delete":
      return stopped(TaskDelete.decode(payload));
    case "/tasks/oom":
      return { containerId: runtimeContainerId(TaskOom.decode(payload).containerId), kind: "oom" };
    case "/containers/create":
      return {
        containerId: runtimeContainerId(ContainerCreate.decode(payload).id),
        kind: "created",
      };
    case "/containers/delete":
      return {
        containerId: runtimeContainerId(ContainerDelete.decode(payload).id),
        kind: "deleted",
      };
    default:
      return undefined;
  }
}

// The CRI status lags the exit by some ten milliseconds and is right from the delete on: both are reported.
function stopped({
  containerId: taskId,
  id,
  exitStatus,
  exitedAt,
}: TaskExit | TaskDelete): RuntimeEvent | undefined {
  if (id !== "" && id !== taskId) return undefined;
  const containerId = runtimeContainerId(taskId);
  if (exitedAt === undefined) return { containerId, kind: "stopped" };
  const finishedAt = exitedAt.seconds * 1_000_000_000n + BigInt(exitedAt.nanos);
  return { containerId, kind: "stopped", exit: { exitCode: exitStatus, finishedAt } };
}
