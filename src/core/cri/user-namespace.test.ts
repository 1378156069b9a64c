import fc from "fast-check";
import { expect, test } from "vitest";
import {
  formatPodUsers,
  keptUsersProblem,
  nextFreeUsers,
  parsePodUsers,
  usersBeyondTheNodes,
} from "./user-namespace.ts";

const perPod = 65_536;
const twoPods = { firstId: perPod, length: 2 * perPod, perPod };
const usersFrom = (firstId: number, length = perPod) => ({ firstId, length });

test("what is remembered of a pod's users is read back", () => {
  const multiple = fc.integer({ min: 1, max: 32_767 });
  fc.assert(
    fc.property(multiple, multiple, (first, count) => {
      const users = usersFrom(first * perPod, count * perPod);
      expect(parsePodUsers(formatPodUsers(users))).toEqual({ ok: true, value: users });
    }),
  );
});

test("users that a pod has are given to no other, however many it has", () => {
  expect(nextFreeUsers([], twoPods)).toEqual(usersFrom(perPod));
  expect(nextFreeUsers([usersFrom(perPod)], twoPods)).toEqual(usersFrom(2 * perPod));
  expect(nextFreeUsers([usersFrom(2 * perPod)], twoPods)).toEqual(usersFrom(perPod));
  expect(nextFreeUsers([usersFrom(perPod), usersFrom(2 * perPod)], twoPods)).toBeUndefined();
  expect(nextFreeUsers([usersFrom(perPod, 2 * perPod)], twoPods)).toBeUndefined();
});

test("the node's own users are never given away, even when all others are", () => {
  const large = 2 ** 31;
  expect(nextFreeUsers([], usersBeyondTheNodes(large))).toEqual(usersFrom(large, large));
  expect(nextFreeUsers([usersFrom(large, large)], usersBeyondTheNodes(large))).toBeUndefined();
});

test.each([
  [usersFrom(perPod), undefined],
  [usersFrom(perPod, 2 * perPod), "wrong user namespace length 131072"],
  [usersFrom(perPod + 1), "wrong user namespace offset specified 65537"],
  [usersFrom(0), "id 0 is out of range"],
  [usersFrom(3 * perPod), "id 196608 is out of range"],
])("of a pod that had %j is said: %s", (users, problem) => {
  expect(keptUsersProblem(users, twoPods)).toBe(problem);
});
