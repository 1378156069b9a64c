import fc from "fast-check";
import { expect, test } from "vitest";
import { matchesGlob } from "./glob.ts";

test.each([
  ["registry", "registry", true],
  ["", "", true],
  ["", "a", false],
  ["*", "", true],
  ["*", "anything", true],
  ["a*", "b", false],
  ["a*c", "abc", true],
  ["a*b*c", "aXbYbZc", true],
  ["*.io", "quay.io", true],
  ["*a*b", "aab", true],
  ["*ab", "aaab", true],
  ["*", "a/b", false],
  ["a*b", "a/b", false],
  ["a?c", "abc", true],
  ["a?c", "a/c", false],
  ["[a-c]x", "bx", true],
  ["[^a-c]x", "bx", false],
  ["[^a-c]x", "dx", true],
  ["[ab]", "b", true],
  ["[c-a]", "b", false],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["[\\]]", "]", true],
  ["[世-界]", "丗", true],
  ["*世", "hello世", true],
])("%j fits %j: %s", (glob, text, expected) => {
  expect(matchesGlob(glob, text)).toBe(expected);
});

test.each(["[", "[a", "[]", "[]a]", "[-a]", "[a-]", "[^]", "\\", "[\\"])(
  "%j is a broken glob and fits nothing",
  (glob) => {
    expect(matchesGlob(glob, glob)).toBe(false);
    expect(matchesGlob(glob, "a")).toBe(false);
  },
);

test("a glob or text longer than any host fits nothing", () => {
  expect(matchesGlob("*", "a".repeat(1024))).toBe(true);
  expect(matchesGlob("*", "a".repeat(1025))).toBe(false);
  expect(matchesGlob("a".repeat(1025), "a".repeat(1025))).toBe(false);
});

test("stars match as the plain definition of a star says", () => {
  const plain = (glob: string, text: string): boolean => {
    if (glob === "") return text === "";
    if (glob.startsWith("*")) {
      return plain(glob.slice(1), text) || (text !== "" && plain(glob, text.slice(1)));
    }
    return text !== "" && glob[0] === text[0] && plain(glob.slice(1), text.slice(1));
  };
  const globs = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
  const texts = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 10 });
  fc.assert(
    fc.property(globs, texts, (glob, text) => {
      expect(matchesGlob(glob, text)).toBe(plain(glob, text));
    }),
  );
});
