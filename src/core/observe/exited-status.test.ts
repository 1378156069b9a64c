import { expect, test } from "vitest";
import { ContainerState } from "../../model/generated/cri.ts";
import { containerTerminationMessagePolicyAnnotation } from "../../model/labels.ts";
import { withExit } from "./exited-status.ts";

const running = { id: "1", state: ContainerState.CONTAINER_RUNNING };
const exit = { exitCode: 3, finishedAt: 5n };

test("a container that is known to have ended has ended, whatever the runtime still says", () => {
  expect(withExit(running, exit)).toEqual({
    id: "1",
    state: ContainerState.CONTAINER_EXITED,
    exitCode: 3,
    finishedAt: 5n,
    reason: "Error",
  });
  expect(withExit(running, { ...exit, exitCode: 0 }).reason).toBe("Completed");
  expect(withExit(running, undefined)).toBe(running);
});

test("what the runtime says itself stands", () => {
  const exited = { id: "1", state: ContainerState.CONTAINER_EXITED, exitCode: 137 };
  expect(withExit(exited, exit)).toBe(exited);
});

test("an end that the runtime will say more about is waited for", () => {
  expect(withExit(running, { ...exit, exitCode: 137 })).toBe(running);
  const annotations = { [containerTerminationMessagePolicyAnnotation]: "FallbackToLogsOnError" };
  const logged = { ...running, annotations };
  expect(withExit(logged, exit)).toBe(logged);
  expect(withExit(logged, { ...exit, exitCode: 0 }).exitCode).toBe(0);
});
