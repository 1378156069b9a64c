import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Row {
  readonly id: string;
  readonly code: readonly string[];
  readonly tests: readonly { readonly file: string; readonly title: string }[];
}

/** The table at the end of docs/security.md. */
function readTable(): readonly Row[] {
  const text = readFileSync("docs/security.md", "utf8");
  const [, table = ""] = text.split("| ID | what went wrong | code | tests |\n|---|---|---|---|\n");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.map((line) => {
    const [id = "", , code = "", tests = ""] = line.slice(2, -2).split(" | ");
    return {
      id,
      code: code.split("<br>").map((path) => path.replaceAll("`", "")),
      tests: tests.split("<br>").map((entry) => {
        const [, file = "", title = ""] = /^`([^`]+)` (.+)$/.exec(entry) ?? [];
        return { file, title };
      }),
    };
  });
}

const rows = readTable();

test("the table has rows, and no vulnerability twice", () => {
  const ids = rows.flatMap(({ id }) => id.split(", "));
  expect(ids.length).toBeGreaterThan(40);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(rows)("$id names code and tests that exist", ({ code, tests }) => {
  expect(code.filter((path) => !existsSync(path))).toEqual([]);
  expect(tests.length).toBeGreaterThan(0);
  const missing = tests.filter(
    ({ file, title }) =>
      title === "" || !existsSync(file) || !readFileSync(file, "utf8").includes(`"${title}"`),
  );
  expect(missing).toEqual([]);
});
