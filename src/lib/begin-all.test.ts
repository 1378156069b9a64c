import { expect, test } from "vitest";
import { beginAll } from "./begin-all.ts";

test("all results, in order", async () => {
  const [text, number] = await beginAll(
    () => Promise.resolve("a"),
    () => Promise.resolve(1),
  );
  expect([text, number]).toEqual(["a", 1]);
});

test("where one throws at once, the rejection of another is handled", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  let rejectFirst: (error: Error) => void = () => undefined;
  const both = beginAll(
    () => new Promise((_resolve, reject) => (rejectFirst = reject)),
    () => {
      throw new Error("at once");
    },
  );
  await expect(both).rejects.toThrow("at once");
  rejectFirst(new Error("later"));
  await new Promise(setImmediate);
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
