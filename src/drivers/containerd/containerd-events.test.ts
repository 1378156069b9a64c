import { expect, test } from "vitest";
import {
  ContainerCreate,
  type Envelope,
  TaskDelete,
  TaskExit,
  TaskOom,
} from "../../generated/containerd-events.ts";
import { decodeEvent } from "./containerd-events.ts";

function envelope(topic: string, value: Uint8Array): Envelope {
  return {
    timestamp: undefined,
    namespace: "k8s.io",
    topic,
    event: { typeUrl: "", value: Buffer.from(value) },
  };
}

const task = { containerId: "c", pid: 1, exitStatus: 0, exitedAt: undefined };

test("the end of a container's own process is its stop", () => {
  const exit = TaskExit.encode({ ...task, id: "c" }).finish();
  const deletion = TaskDelete.encode({ ...task, id: "" }).finish();
  const stopped = { containerId: "c", kind: "stopped" };
  expect(decodeEvent(envelope("/tasks/exit", exit))).toEqual(stopped);
  expect(decodeEvent(envelope("/tasks/delete", deletion))).toEqual(stopped);
});

test("the end of a command in a container says nothing about the container", () => {
  const exit = TaskExit.encode({ ...task, id: "exec-1" }).finish();
  const deletion = TaskDelete.encode({ ...task, id: "exec-1" }).finish();
  expect(decodeEvent(envelope("/tasks/exit", exit))).toBeUndefined();
  expect(decodeEvent(envelope("/tasks/delete", deletion))).toBeUndefined();
});

test("creation, lack of memory and unknown topics", () => {
  const created = ContainerCreate.encode({ id: "c" }).finish();
  const oom = TaskOom.encode({ containerId: "c" }).finish();
  expect(decodeEvent(envelope("/containers/create", created))?.kind).toBe("created");
  expect(decodeEvent(envelope("/tasks/oom", oom))).toEqual({ containerId: "c", kind: "oom" });
  expect(decodeEvent(envelope("/images/create", created))).toBeUndefined();
});
