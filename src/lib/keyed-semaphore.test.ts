import { expect, test } from "vitest";
import { KeyedSemaphore } from "./keyed-semaphore.ts";

test("holders of one key wait for each other, not for those of another, and nothing is left of them", async () => {
  const semaphore = new KeyedSemaphore(1);
  const never = new AbortController().signal;
  const leave = await semaphore.enter("a", never);
  const leaveOther = await semaphore.enter("b", never);
  let isIn = false;
  const enterNext = async (): Promise<void> => {
    const leaveNext = await semaphore.enter("a", never);
    isIn = true;
    leaveNext();
  };
  const next = enterNext();
  const late = new AbortController();
  const given = semaphore.enter("a", late.signal);
  late.abort(new Error("late"));
  await expect(given).rejects.toThrow("late");
  expect(isIn).toBe(false);
  leave();
  await next;
  leaveOther();
  expect(semaphore.size).toBe(0);
});
