import { expect, test } from "vitest";
import type { WatchEvent } from "../../ports/api-client.ts";
import { type ApiObject, ObjectSet } from "./object-set.ts";

function event(
  type: WatchEvent<ApiObject>["type"],
  name: string,
  version: string,
): WatchEvent<ApiObject> {
  return { type, object: { metadata: { namespace: "ns", name, resourceVersion: version } } };
}

test("a change that is heard of twice is one change", () => {
  const set = new ObjectSet<ApiObject>();
  set.replace([], "5");
  expect(set.apply(event("ADDED", "a", "9"))).toBe("ns/a");
  expect(set.apply(event("ADDED", "a", "9"))).toBeUndefined();
  expect(set.apply(event("MODIFIED", "a", "10"))).toBe("ns/a");
  expect(set.apply(event("ADDED", "a", "9"))).toBeUndefined();
  expect(set.items.get("ns/a")?.metadata?.resourceVersion).toBe("10");
  expect(set.resourceVersion).toBe("10");
});

test("a deletion that is repeated late leaves the object that was made anew", () => {
  const set = new ObjectSet<ApiObject>();
  set.apply(event("ADDED", "a", "1"));
  expect(set.apply(event("DELETED", "a", "2"))).toBe("ns/a");
  set.apply(event("ADDED", "a", "3"));
  expect(set.apply(event("DELETED", "a", "2"))).toBeUndefined();
  expect(set.apply(event("ADDED", "a", "1"))).toBeUndefined();
  expect([...set.items.keys()]).toEqual(["ns/a"]);
});

test("a complete set tells apart what is new, other, gone and as before", () => {
  const set = new ObjectSet<ApiObject>();
  const object = (name: string, uid: string, resourceVersion: string): ApiObject => ({
    metadata: { name, uid, resourceVersion },
  });
  set.replace([object("same", "1", "1"), object("other", "2", "1"), object("gone", "3", "1")], "4");
  const next = [object("same", "1", "1"), object("other", "2", "5"), object("new", "4", "6")];
  expect([...set.replace(next, "6")].toSorted()).toEqual(["gone", "new", "other"]);
});
