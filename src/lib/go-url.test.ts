import { expect, test } from "vitest";
import { escapeUrlPart, parseUrlReference } from "./go-url.ts";

test.each([
  { text: "/a!b", path: "/a!b" },
  { text: '/a"b', path: "/a%22b" },
  { text: "/a%2fb", path: "/a%2fb" },
  { text: "/%ff", path: "/%ff" },
  { text: "//host/x", path: "/x" },
  { text: "///x", path: "///x" },
  { text: "http://host/x", path: "/x" },
  { text: "", path: "" },
])("the path of $text is sent as $path", ({ text, path }) => {
  expect(parseUrlReference(text)?.path).toBe(path);
});

test.each(["/%", "/%zz", ":x", "a b:c", "/\u0001", "#%zz"])("%j is refused", (text) => {
  expect(parseUrlReference(text)).toBeUndefined();
});

test("query, fragment and user are distinguished", () => {
  expect(parseUrlReference("//me@host/x?a?b#c d")).toEqual({
    opaque: "",
    userInfo: "me",
    path: "/x",
    query: "a?b",
    fragment: "c%20d",
  });
  expect(parseUrlReference("mail:somebody")?.opaque).toBe("somebody");
});

test("bytes that do not belong into a host are escaped", () => {
  expect(escapeUrlPart("a b.é", "host")).toBe("a%20b.%C3%A9");
});
