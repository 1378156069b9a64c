import { MessageChannel } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import { ApiError } from "../../model/api-error.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { serveCalls, ThreadCaller } from "./thread-calls.ts";

interface TestCalls {
  double(asked: number, signal: AbortSignal): Promise<number>;
  fail(asked: "runtime" | "api" | "other", signal: AbortSignal): Promise<void>;
  wait(asked: undefined, signal: AbortSignal): Promise<void>;
  strange(asked: undefined, signal: AbortSignal): Promise<unknown>;
  bytes(asked: number, signal: AbortSignal): Promise<Uint8Array>;
}

const never = new AbortController().signal;
let close: () => void = () => undefined;

afterEach(() => close());

function connect(maxInFlight = 4) {
  const { port1, port2 } = new MessageChannel();
  close = () => port1.close();
  const aborted: string[] = [];
  let given = new Uint8Array();
  let waiting = 0;
  const calls: TestCalls = {
    double: async (asked) => 2 * asked,
    fail: async (asked) => {
      if (asked === "runtime") throw new RuntimeError("Exec", "NotFound", "no such container");
      if (asked === "api") throw new ApiError(403, "Forbidden", "you may not");
      throw new TypeError("broken");
    },
    wait: (_, signal) =>
      new Promise((_resolve, reject) => {
        waiting++;
        signal.addEventListener("abort", () => {
          waiting--;
          aborted.push("wait");
          reject(new Error("aborted"));
        });
      }),
    strange: async () => () => undefined,
    bytes: async (length) => {
      given = new Uint8Array(length).fill(7);
      return given;
    },
  };
  serveCalls<TestCalls>(port1, calls, ["bytes"]);
  const names = ["double", "fail", "wait", "strange", "bytes"] as const;
  const caller = new ThreadCaller(port2, maxInFlight).calls<TestCalls>(names, ["double"]);
  return { caller, aborted, given: () => given, waiting: () => waiting };
}

test("calls are answered, each with its own answer", async () => {
  const { caller } = connect();
  const answers = await Promise.all([1, 2, 3].map((asked) => caller.double(asked, never)));
  expect(answers).toEqual([2, 4, 6]);
});

test("failures keep what handlers go by", async () => {
  const { caller } = connect();
  await expect(caller.fail("runtime", never)).rejects.toMatchObject({
    name: "RuntimeError",
    code: "NotFound",
    message: "no such container",
  });
  await expect(caller.fail("api", never)).rejects.toMatchObject({ name: "ApiError", status: 403 });
  await expect(caller.fail("other", never)).rejects.toThrow("broken");
});

test("an answer that cannot be copied is a failure of that call alone", async () => {
  const { caller } = connect();
  await expect(caller.strange(undefined, never)).rejects.toThrow("could not be cloned");
  expect(await caller.double(1, never)).toBe(2);
});

test("an abort reaches the other end", async () => {
  const { caller, aborted, waiting } = connect();
  const gone = new AbortController();
  const call = caller.wait(undefined, gone.signal);
  await expect.poll(waiting).toBe(1);
  gone.abort(new Error("the client went away"));
  await expect(call).rejects.toThrow("the client went away");
  await expect.poll(() => aborted).toEqual(["wait"]);
});

test("no more calls are under way than allowed, except those that do not wait", async () => {
  const { caller, waiting } = connect(2);
  const gone = new AbortController();
  const calls = [1, 2, 3, 4].map(() => caller.wait(undefined, gone.signal));
  expect(await caller.double(1, never)).toBe(2);
  expect(waiting()).toBe(2);
  gone.abort();
  await Promise.allSettled(calls);
  await expect.poll(waiting).toBe(0);
});

test("bytes that are handed over are not copied", async () => {
  const { caller, given } = connect();
  const bytes = await caller.bytes(1000, never);
  expect(bytes).toHaveLength(1000);
  expect(given()).toHaveLength(0);
});

test("calls that are under way are aborted when the port closes", async () => {
  const { caller, aborted, waiting } = connect();
  void caller.wait(undefined, never).catch(() => undefined);
  await expect.poll(waiting).toBe(1);
  close();
  await expect.poll(() => aborted).toEqual(["wait"]);
});
