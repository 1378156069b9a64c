import { expect, test } from "vitest";
import { ContainerState, type ContainerStatus } from "../../model/generated/cri.ts";
import {
  containerTerminationMessagePathAnnotation,
  containerTerminationMessagePolicyAnnotation,
} from "../../model/labels.ts";
import { terminationMessageSource } from "./termination-message.ts";

const failed: ContainerStatus = {
  state: ContainerState.CONTAINER_EXITED,
  exitCode: 1,
  logPath: "/var/log/web.log",
  mounts: [{ containerPath: "/dev/termination-log", hostPath: "/pods/web/0a1b" }],
  annotations: {
    [containerTerminationMessagePathAnnotation]: "dev/termination-log",
    [containerTerminationMessagePolicyAnnotation]: "FallbackToLogsOnError",
  },
};

test("a failed container's last words are in its file or else in its log", () => {
  expect(terminationMessageSource(failed)).toEqual({
    filePath: "/pods/web/0a1b",
    logPath: "/var/log/web.log",
  });
});

test.each([
  ["succeeded", { exitCode: 0 }],
  ["could not be run", { reason: "ContainerCannotRun" }],
  [
    "asks only for its file",
    {
      annotations: { ...failed.annotations, [containerTerminationMessagePolicyAnnotation]: "File" },
    },
  ],
])("the log does not count for a container that %s", (_what, change) => {
  expect(terminationMessageSource({ ...failed, ...change })).toEqual({
    filePath: "/pods/web/0a1b",
  });
});

test("a container that still runs has not said its last words", () => {
  expect(terminationMessageSource({ ...failed, state: ContainerState.CONTAINER_RUNNING })).toEqual(
    {},
  );
});
