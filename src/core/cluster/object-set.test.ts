import { expect, test } from "vitest";
import type { WatchEvent } from "../../model/watch-event.ts";
import { type ApiObject, isEarlier, newestOf, ObjectSet } from "./object-set.ts";

function event(
  type: WatchEvent<ApiObject>["type"],
  name: string,
  version: string,
): WatchEvent<ApiObject> {
  return { type, object: { metadata: { namespace: "ns", name, resourceVersion: version } } };
}

test("a late repetition of a deletion leaves the object that was created since", () => {
  const set = new ObjectSet<ApiObject>();
  set.apply(event("ADDED", "a", "1"));
  expect(set.apply(event("DELETED", "a", "2"))).toBe("ns/a");
  expect(set.apply(event("DELETED", "a", "2"))).toBeUndefined();
  set.apply(event("ADDED", "a", "3"));
  expect(set.apply(event("DELETED", "a", "2"))).toBeUndefined();
  expect([...set.items.keys()]).toEqual(["ns/a"]);
  expect(set.apply(event("DELETED", "a", "3"))).toBe("ns/a");
});

test("a bookmark changes nothing", () => {
  const set = new ObjectSet<ApiObject>();
  expect(set.apply(event("BOOKMARK", "", "1"))).toBeUndefined();
  expect(set.items.size).toBe(0);
});

test("a complete set names what was added, changed and removed, and not what stayed", () => {
  const set = new ObjectSet<ApiObject>();
  const object = (name: string, uid: string, resourceVersion: string): ApiObject => ({
    metadata: { name, uid, resourceVersion },
  });
  set.replace([object("same", "1", "1"), object("changed", "2", "1"), object("gone", "3", "1")]);
  const next = [object("same", "1", "1"), object("changed", "2", "5"), object("new", "4", "6")];
  expect([...set.replace(next)].toSorted()).toEqual(["changed", "gone", "new"]);
});

test.each([
  { one: "9", other: "10", expected: true },
  { one: "10", other: "9", expected: false },
  { one: "10", other: "10", expected: false },
  { one: "9007199254740993", other: "9007199254740994", expected: true },
  { one: "a", other: "b", expected: false },
  { one: "", other: "1", expected: false },
])("version $one is earlier than $other: $expected", ({ one, other, expected }) => {
  const at = (resourceVersion: string): ApiObject => ({ metadata: { resourceVersion } });
  expect(isEarlier(at(one), at(other))).toBe(expected);
});

test("an answer counts until the watch has brought the same or newer, and not for an object of the same name", () => {
  const object = (uid: string, resourceVersion: string): ApiObject => ({
    metadata: { name: "a", uid, resourceVersion },
  });
  const [old, answer, later] = [object("1", "3"), object("1", "5"), object("1", "7")];
  expect(newestOf(old, answer)).toBe(answer);
  expect(newestOf(later, answer)).toBe(later);
  expect(newestOf(old, undefined)).toBe(old);
  expect(newestOf(undefined, answer)).toBeUndefined();
  const recreated = object("2", "4");
  expect(newestOf(recreated, answer)).toBe(recreated);
});
