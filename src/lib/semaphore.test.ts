import { expect, test } from "vitest";
import { Semaphore } from "./semaphore.ts";

const { signal } = new AbortController();

test("lets waiters in one by one, in the order they came", async () => {
  const semaphore = new Semaphore(1);
  const entered: string[] = [];
  const leave = await semaphore.enter(signal);
  const visits = ["a", "b", "c"].map(async (name) => {
    const leaveAgain = await semaphore.enter(signal);
    entered.push(name);
    leaveAgain();
  });
  leave();
  leave();
  await Promise.all(visits);
  expect(entered).toEqual(["a", "b", "c"]);
});

test("a waiter that gives up leaves its place to the next", async () => {
  const semaphore = new Semaphore(1);
  const leave = await semaphore.enter(signal);
  const impatient = new AbortController();
  const first = semaphore.enter(impatient.signal);
  const second = semaphore.enter(signal);
  impatient.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  leave();
  const leaveSecond = await second;
  leaveSecond();
});

test("an aborted caller does not enter even when there is room", async () => {
  await expect(new Semaphore(1).enter(AbortSignal.abort(new Error("late")))).rejects.toThrow(
    "late",
  );
});

test("work that fails leaves its place to the next", async () => {
  const semaphore = new Semaphore(1);
  const failing = semaphore.run(() => Promise.reject(new Error("broken")), signal);
  const next = semaphore.run(() => Promise.resolve("done"), signal);
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("done");
});
