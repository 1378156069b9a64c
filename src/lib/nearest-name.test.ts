import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

test.each([
  ["lgs", ["logs", "get"], "logs"],
  ["imgae", ["image", "name"], "image"],
  ["Image", ["image"], "image"],
  ["banana", ["logs", "get"], undefined],
])("%s among %j means %s", (name, known, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});
