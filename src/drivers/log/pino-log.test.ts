import { expect, test } from "vitest";
import { createPinoLog, type PinoLogOptions } from "./pino-log.ts";

function capture(options: Omit<PinoLogOptions, "write">) {
  const lines: string[] = [];
  return { lines, log: createPinoLog({ ...options, write: (line) => lines.push(line) }) };
}

test("a record is one JSON line with time, level, message and fields", () => {
  const { lines, log } = capture({ level: "info", format: "json" });
  log.info("started container", { pod: "a", bytes: 2n ** 60n });
  log.debug("not shown");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    level: "info",
    msg: "started container",
    pod: "a",
    bytes: "1152921504606846976",
  });
});

test("an error is logged with its message and cause", () => {
  const { lines, log } = capture({ level: "info", format: "json" });
  log.error("sync failed", { error: new Error("outer", { cause: new Error("inner") }) });
  expect(lines[0]).toContain("outer");
  expect(lines[0]).toContain("inner");
});

test("lines for people are made of the same records", () => {
  const { lines, log } = capture({ level: "debug", format: "human" });
  log.warn("pull failed", { image: "busybox", error: new Error("no such host") });
  expect(lines[0]?.slice(9)).toBe('WARN  pull failed image=busybox error="no such host"\n');
});

test("a record in the format of Kubernetes components has their keys, and each line comes with its level", () => {
  const written: (readonly [string, string])[] = [];
  const write = (line: string, level: string) => written.push([level, line]);
  const log = createPinoLog({ level: "debug", format: "kubernetes", write });
  log.debug("a detail");
  log.error("sync failed", { pod: "a", error: new Error("no host") });
  expect(written.map(([level]) => level)).toEqual(["debug", "error"]);
  const [detail, failure] = written.map(([, line]) => JSON.parse(line));
  expect(detail).toEqual({ ts: expect.any(Number), level: "debug", msg: "a detail", v: 4 });
  expect(failure).toEqual({
    ts: expect.any(Number),
    level: "error",
    msg: "sync failed",
    pod: "a",
    err: "no host",
  });
});

test("details can be asked for while it runs", () => {
  const { lines, log } = capture({ level: "info", format: "json" });
  log.showDetails(true);
  log.debug("a detail");
  log.showDetails(false);
  log.debug("another");
  expect(lines).toHaveLength(1);
});
