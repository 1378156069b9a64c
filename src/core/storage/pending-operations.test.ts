import { expect, test } from "vitest";
import { PendingOperations } from "./pending-operations.ts";

const key = { volumeName: "kubernetes.io/csi/driver^1" };

test("a refusal says after which moment the operation may start", () => {
  const operations = new PendingOperations();
  operations.start(key, "volume_mount", 1000);
  operations.finish(key, "no room", 2000);
  const refused = operations.start(key, "volume_mount", 2500);
  expect(refused).toMatchObject({ ok: false, error: { kind: "backoff", retryAfterMs: 2500 } });
  expect(operations.start(key, "volume_mount", 2501).ok).toBe(true);
});

test("a volume that was forgotten begins without a back-off", () => {
  const operations = new PendingOperations();
  const other = { volumeName: "kubernetes.io/csi/driver^2" };
  for (const one of [key, other]) {
    operations.start(one, "volume_mount", 0);
    operations.finish(one, "no room", 0);
  }
  operations.forget(key.volumeName);
  expect(operations.isSafeToRetry(key, "volume_mount", 0)).toBe(true);
  expect(operations.isSafeToRetry(other, "volume_mount", 0)).toBe(false);
});

test("an operation that runs is not forgotten", () => {
  const operations = new PendingOperations();
  operations.start(key, "volume_mount", 0);
  operations.forget(key.volumeName);
  expect(operations.isPending(key)).toBe(true);
});
