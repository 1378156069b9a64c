import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Payload, PublishedPayload } from "../../model/volume-payload.ts";
import { planPayload } from "./plan-payload.ts";

const names = fc.constantFrom("a", "b", "c", ".d");
const paths = fc.array(names, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const payloads: fc.Arbitrary<Payload> = fc
  .array(fc.tuple(paths, fc.uint8Array({ maxLength: 3 })))
  .map((files) => new Map(files.map(([path, data]) => [path, { data, mode: 0o644 }])));

/** What a volume shows after a plan was carried out. */
function show(payload: Payload): PublishedPayload {
  const entries = new Map<string, Uint8Array | undefined>();
  for (const [path, { data }] of payload) {
    const parts = path.split("/");
    for (let length = 1; length < parts.length; length++) {
      entries.set(parts.slice(0, length).join("/"), undefined);
    }
    entries.set(path, data);
  }
  return { entries };
}

test("what is shown already is not written again, and what differs always is", () => {
  fc.assert(
    fc.property(payloads, payloads, (before, after) => {
      const first = planPayload(before, undefined);
      const plan = planPayload(after, show(before));
      if (!first.ok || !plan.ok) return;
      expect(first.value.content).toEqual(before);
      expect(plan.value.content === undefined).toBe(isDeepStrictEqual(before, after));
      const seen = new Set([...plan.value.links.keys(), ...plan.value.removedNames]);
      for (const name of first.value.links.keys()) expect(seen).toContain(name);
      for (const name of plan.value.removedNames) expect(plan.value.links).not.toContain(name);
    }),
  );
});

test("a path that is a file and a folder at once is refused", () => {
  const file = { data: new Uint8Array(), mode: 0o644 };
  const payload: Payload = new Map([
    ["a/b", file],
    ["a", file],
  ]);
  expect(planPayload(payload, undefined)).toEqual({
    ok: false,
    error: "invalid path: a is a file and the folder of a/b",
  });
});

test("a file that cannot be one of ours is written again", () => {
  const payload: Payload = new Map([["a", { data: new Uint8Array([1]), mode: 0o644 }]]);
  const plan = planPayload(payload, { entries: new Map([["a", undefined]]) });
  expect(plan.ok && plan.value.content).toEqual(payload);
});

test("paths with very many parts cost no text for each part", () => {
  const file = { data: new Uint8Array(), mode: 0o644 };
  const deep = Array.from({ length: 300 }, (_, index) => `${index}/${"a/".repeat(2000)}b`);
  const before = process.memoryUsage().heapUsed;
  expect(planPayload(new Map(deep.map((path) => [path, file])), undefined).ok).toBe(true);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(512 * 1024 * 1024);
  const clash = new Map([
    ["a/b/c/d", file],
    ["a", file],
    ["a/b", file],
  ]);
  expect(planPayload(clash, undefined)).toEqual({
    ok: false,
    error: "invalid path: a/b is a file and the folder of a/b/c/d",
  });
});
