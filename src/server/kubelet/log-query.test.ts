import { expect, test } from "vitest";
import { parseLogQuery } from "./log-query.ts";
import { parseQuery } from "./request-target.ts";

function parse(text: string) {
  return parseLogQuery(parseQuery(text));
}

test("a request without a query is for the files", () => {
  expect(parse("")).toEqual({ ok: true, value: undefined });
  expect(parse("other=1")).toEqual({ ok: true, value: undefined });
});

test("services with options become flags of journalctl", () => {
  expect(
    parse(
      "query=kubelet&query=crio&sinceTime=2026-01-02T03:04:05%2B01:00&tailLines=10&boot=-1&pattern=x.*y",
    ),
  ).toEqual({
    ok: true,
    value: {
      services: ["kubelet", "crio"],
      file: undefined,
      journalFlags: [
        "--since=2026-01-02 02:04:05 UTC",
        "--pager-end",
        "--lines=10",
        "--grep=x.*y",
        "--boot",
        "-1",
      ],
    },
  });
});

test("a name with a slash is a file", () => {
  expect(parse("query=audit\\audit.log")).toMatchObject({
    value: { services: [], file: "audit/audit.log" },
  });
});

test.each([
  ["query=%20", 400, 'query: Invalid value: [" "]: may not be empty'],
  ["query=a&sinceTime=now", 400, 'sinceTime: Invalid value: "now": invalid time format'],
  ["query=a&boot=x", 400, 'boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax'],
  ["tailLines=1", 406, "query: Required value: cannot be empty with options"],
  ["query=a%3Bb", 406, 'query: Invalid value: "a;b": input contains unsupported characters'],
  ["query=a&query=b&query=c&query=d&query=e", 406, "query: Too many: 5: must have at most 4 items"],
  [
    "query=a/b&query=c",
    406,
    'query: Invalid value: "[a/b], [c]": cannot specify a file and service',
  ],
  ["query=a/b&boot=0", 406, 'query: Invalid value: ["a/b"]: cannot specify file with options'],
  [
    "query=a&boot=1&tailLines=100001",
    406,
    "[boot: Invalid value: 1: must be less than 1, tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive]",
  ],
  [
    "query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z",
    406,
    'untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`',
  ],
])("%s", (text, status, body) => {
  expect(parse(text)).toEqual({ ok: false, error: { status, body } });
});
