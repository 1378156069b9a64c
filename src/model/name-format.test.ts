import { expect, test } from "vitest";
import { dnsLabelProblems, dnsSubdomainProblems, labelKeyProblems } from "./name-format.ts";

test.each(["a", "web-0", "0", "a".repeat(63)])("%s is a DNS label", (name) => {
  expect(dnsLabelProblems(name)).toEqual([]);
});

test.each([
  ["a.b", ["must not contain dots"]],
  ["a".repeat(64), ["must be no more than 63 characters"]],
  [
    "-a",
    [
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ],
  ],
])("%s is not a DNS label", (name, problems) => {
  expect(dnsLabelProblems(name)).toEqual(problems);
});

test("a subdomain that is too long and badly formed has two problems", () => {
  expect(dnsSubdomainProblems("example.com")).toEqual([]);
  expect(dnsSubdomainProblems(`_${"a".repeat(253)}`)).toHaveLength(2);
});

test.each(["app", "example.com/app", "App_1.x"])("%s is a label key", (key) => {
  expect(labelKeyProblems(key)).toEqual([]);
});

test("every part of a label key is judged by itself", () => {
  expect(labelKeyProblems("/app")).toEqual(["prefix part must be non-empty"]);
  expect(labelKeyProblems("example.com/")[0]).toBe("name part must be non-empty");
  expect(labelKeyProblems("Bad/app")[0]).toMatch(/^prefix part a lowercase RFC 1123 subdomain/);
  expect(labelKeyProblems("a".repeat(64))).toEqual(["name part must be no more than 63 bytes"]);
  expect(labelKeyProblems("a/b/c")[0]).toMatch(/^a valid label key must consist of/);
});
