import { expect, test } from "vitest";
import { parseEnvFile } from "./env-file.ts";

test.each([
  { text: "A='x'\nB='y'", key: "B", value: "y" },
  { text: "  A='x' # note\r\n", key: "A", value: "x" },
  { text: "# A='no'\n\nA='two\n  lines'\nB='z'", key: "A", value: "two\n  lines" },
  { text: "A='two\nlines'\nB='z'", key: "B", value: "z" },
  { text: "A= 'x'", key: "A", value: "" },
  { text: "A=''", key: "A", value: "" },
  { text: "A='$(B) \\n'", key: "A", value: "$(B) \\n" },
  { text: "", key: "A", value: "" },
  { text: "A='x'\nrubbish", key: "A", value: "x" },
])("$key of $text is $value", ({ text, key, value }) => {
  expect(parseEnvFile(text).values.get(key) ?? "").toBe(value);
});

test.each([
  { text: "rubbish", error: "at line 1: missing '='" },
  { text: "\n='x'", error: "at line 2: empty variable name" },
  { text: "A ='x'", error: "at line 1: whitespace before '=' is not allowed" },
  { text: "A=x", error: "at line 1: value must be enclosed in single quotes" },
  { text: "A='x'y", error: "at line 1: unexpected content after closing quote" },
  { text: "A='x\ny'z", error: "at line 2: unexpected content after closing quote" },
  { text: "\nA='x\ny", error: "starting at line 2: unclosed single quote" },
  { text: `A='${"x".repeat(70_000)}'`, error: "at line 1: line is too long" },
])("$error", ({ text, error }) => {
  expect(parseEnvFile(text).problem).toBe(`invalid environment variable format ${error}`);
});
