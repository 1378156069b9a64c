import { expect, test } from "vitest";
import { wantsColours } from "../terminal.ts";
import { painter, printable } from "./colour.ts";
import { alignTabs } from "./elastic-tabs.ts";
import { Table } from "./table.ts";
import { toYaml } from "./yaml.ts";

test("columns are as wide as their widest cell, three spaces apart", () => {
  const table = new Table(["NAME", "STATUS", "AGE"], true, painter(false));
  expect(table.lines([["a-long-name", "Running", "5s"]])).toEqual([
    "NAME          STATUS    AGE",
    "a-long-name   Running   5s",
  ]);
  expect(table.lines([["b", "Error", "6s"]])).toEqual(["b             Error     6s"]);
});

test("only the status is painted, and padding is not", () => {
  const table = new Table(["NAME", "STATUS", "AGE"], false, painter(true));
  expect(
    table.lines([
      ["web", "Running", "5s"],
      ["db", "Error", "6s"],
    ]),
  ).toEqual(["web   \x1b[32mRunning\x1b[0m   5s", "db    \x1b[31mError\x1b[0m     6s"]);
});

test("colours are for terminals, and NO_COLOR turns them off", () => {
  expect(wantsColours({}, true)).toBe(true);
  expect(wantsColours({}, false)).toBe(false);
  expect(wantsColours({ NO_COLOR: "1" }, true)).toBe(false);
  expect(wantsColours({ NO_COLOR: "" }, true)).toBe(true);
  expect(wantsColours({ TERM: "dumb" }, true)).toBe(false);
});

test("control characters cannot reach the terminal", () => {
  expect(printable("a\x1b[31mb\u009bc\nd")).toBe("a\uFFFD[31mb\uFFFDc d");
});

test("tabs align within a block of neighbouring lines", () => {
  expect(alignTabs("Name:\tweb\nNamespace:\tdefault\nPlain\nA:\tb\tc\nLong:\tx\ty")).toBe(
    "Name:       web\nNamespace:  default\nPlain\nA:     b  c\nLong:  x  y",
  );
});

test("yaml has sorted keys, no absent fields and no folded lines", () => {
  const long = "word ".repeat(40).trim();
  expect(toYaml({ b: [1, { c: long }], a: undefined, A: "yes" })).toBe(
    `A: "yes"\nb:\n- 1\n- c: ${long}\n`,
  );
});
