import { expect, test } from "vitest";
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import { awaitedPulls, withPulls } from "./show-waits.ts";

const pull = { container: "main", image: "a.io/b:1", sinceMs: 0, isQueued: false };

function container(name: string, state: ContainerStatus["state"]): ContainerStatus {
  return { name, image: "", imageID: "", ready: false, restartCount: 0, state };
}

test("a container that waits for its image says since when, under the reason it has", () => {
  const creating = container("main", { waiting: { reason: "ContainerCreating" } });
  const other = container("other", { waiting: { reason: "ContainerCreating" } });
  const { containerStatuses } = withPulls({ containerStatuses: [creating, other] }, [pull]);
  expect(containerStatuses?.map(({ state }) => state)).toEqual([
    {
      waiting: {
        reason: "ContainerCreating",
        message: 'Pulling image "a.io/b:1" since 1970-01-01T00:00:00Z',
      },
    },
    { waiting: { reason: "ContainerCreating" } },
  ]);
});

test("what went wrong with the last pull stays to be read during the next", () => {
  const failed = { waiting: { reason: "ImagePullBackOff", message: "Back-off" } };
  const status = { initContainerStatuses: [container("main", failed)] };
  expect(withPulls(status, [pull])).toEqual({ ...status });
});

test("a pull shows how far it is", () => {
  const progress = { doneBytes: 1_250_000, totalBytes: 5_000_000 };
  expect(awaitedPulls([{ ...pull, progress }])).toEqual([
    {
      what: 'container main: Pulling image "a.io/b:1" since 1970-01-01T00:00:00Z, 1.3 of 5.0 MB (25%)',
    },
  ]);
});

test("a pull that waits for others is shown as such", () => {
  expect(awaitedPulls([{ ...pull, isQueued: true }])).toEqual([
    { what: 'container main: Waiting to pull image "a.io/b:1" since 1970-01-01T00:00:00Z' },
  ]);
});
