import { expect, test } from "vitest";
import { keySequence } from "./key-sequence.ts";

const unmodified = { ctrlKey: false, altKey: false, shiftKey: false, metaKey: false };

test.each([
  ["c", { ctrlKey: true }, "\u0003"],
  ["\\", { ctrlKey: true }, "\u001c"],
  ["b", { altKey: true }, "\u001bb"],
  ["ArrowUp", { ctrlKey: true, altKey: true }, "\u001b[1;7A"],
  ["x", {}, undefined],
  // As AltGr.
  ["@", { ctrlKey: true, altKey: true }, undefined],
  ["\\", { ctrlKey: true, altKey: true }, undefined],
])("the key %j with %j is sent as %j", (key, modifiers, sent) => {
  expect(keySequence({ ...unmodified, key, ...modifiers }, false)).toBe(sent);
});
