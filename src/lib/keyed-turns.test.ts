import { expect, test } from "vitest";
import { KeyedTurns } from "./keyed-turns.ts";

test("work of one key waits its turn, also after a failure, and other keys do not wait", async () => {
  const turns = new KeyedTurns();
  const done: string[] = [];
  let free = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    free = resolve;
  });
  const first = turns.run("a", async () => {
    await held;
    done.push("first");
    throw new Error("refused");
  });
  const second = turns.run("a", async () => done.push("second"));
  await turns.run("b", async () => done.push("other"));
  free();
  await expect(first).rejects.toThrow("refused");
  await second;
  expect(done).toEqual(["other", "first", "second"]);
});
