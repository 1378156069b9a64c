import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { HungPaths } from "./hung-paths.ts";

const never = new AbortController().signal;

/** A process that hangs in the kernel: it outlives being killed until it emits "exit". */
function hangingProcess(): ChildProcess {
  const state = { pid: 1, stdio: [], exitCode: null, signalCode: null };
  const calls = { kill: () => true, unref: () => undefined };
  return Object.assign(new EventEmitter(), state, calls) as unknown as ChildProcess;
}

const ran = (): Promise<string> => Promise.resolve("ran");

test("one works at a path at a time, and elsewhere others do", async () => {
  const hungPaths = new HungPaths(Date.now);
  const order: string[] = [];
  let end = (): void => undefined;
  let first: Promise<void> = Promise.resolve();
  // Each call reads the mount table before it asks for its turn: which one is done first is up to the disk.
  await new Promise<void>((begun) => {
    const work = (): Promise<void> =>
      new Promise<void>((resolve) => {
        order.push("first");
        end = resolve;
        begun();
      });
    first = hungPaths.inTurn("/some/path", work, never);
  });
  const second = hungPaths.inTurn("/some/path", async () => void order.push("second"), never);
  await hungPaths.inTurn("/other/path", async () => void order.push("other"), never);
  expect(order).toEqual(["first", "other"]);
  end();
  await Promise.all([first, second]);
  expect(order.at(-1)).toBe("second");
});

test("no process is sent to a path where one hangs, nor below it, until that has ended", async () => {
  const hungPaths = new HungPaths(() => 0);
  const child = hangingProcess();
  hungPaths.abandon(child, "/some/path");
  for (const path of ["/some/path", "/some/path/below"]) {
    await expect(hungPaths.inTurn(path, ran, never)).rejects.toThrow(
      `the file system of ${path} does not answer (since 1970-01-01T00:00:00.000Z)`,
    );
  }
  expect(await hungPaths.inTurn("/some/pathway", ran, never)).toBe("ran");
  child.emit("exit");
  expect(await hungPaths.inTurn("/some/path", ran, never)).toBe("ran");
});

test("when too many processes are left, no further path is read", async () => {
  const hungPaths = new HungPaths(Date.now);
  for (let index = 0; index < 64; index += 1) {
    hungPaths.abandon(hangingProcess(), `/hung/${index}`);
  }
  await expect(hungPaths.inTurn("/well", ran, never)).rejects.toThrow(
    "cannot read /well: 64 processes hang on file systems that do not answer, one of them at /hung/0",
  );
});
