import fc from "fast-check";
import { expect, test } from "vitest";
import { formatPodUsers, nextFreeUsers, parsePodUsers } from "./user-namespace.ts";

test("what is remembered of a pod's users is read back", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 32_767 }), (index) => {
      const firstId = index * 65_536;
      expect(parsePodUsers(formatPodUsers(firstId))).toEqual({ ok: true, value: firstId });
    }),
  );
});

test("the node's own users are never given away, even when all others are", () => {
  expect(nextFreeUsers(new Set(), 0)).toBeUndefined();
  expect(nextFreeUsers(new Set([65_536, 131_072]), 2)).toBeUndefined();
  expect(nextFreeUsers(new Set([65_536]), 2)).toBe(131_072);
});

test.each([0, 1, 65_537])("users that start at %d are refused", (hostId) => {
  const mappings = [{ hostId, containerId: 0, length: 65_536 }];
  const text = JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
  expect(parsePodUsers(text).ok).toBe(false);
});
