import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const text = readFileSync("docs/ARCHITECTURE.md", "utf8");

test("the map of rooms in docs/ARCHITECTURE.md has exactly the files of the engine", () => {
  const files = readdirSync("src/engine", { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(100);
  expect(mappedFiles().toSorted()).toEqual(files.toSorted());
});

test("every path that docs/ARCHITECTURE.md names from src, test or tools on exists", () => {
  const named = [...text.matchAll(/`((?:src|test|tools)\/[^`\s]*)`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});

test("every room of the engine that docs/ARCHITECTURE.md names in a table of questions exists", () => {
  const rooms = new Set(readdirSync("src/engine"));
  const named = [...text.matchAll(/`([a-z]+)\/([^`\s]*)`/g)].filter(([, room = ""]) =>
    rooms.has(room),
  );
  const paths = named.map(([, room = "", rest = ""]) => join("src/engine", room, rest));
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});

/** The rows "| `file.ts` | …" below each heading "### `src/engine/room`". */
function mappedFiles(): string[] {
  const files: string[] = [];
  let room: string | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) room = /^### `(src\/engine[^`]*)`$/.exec(line)?.[1];
    const file = /^\| `([^`]+\.ts)` \|/.exec(line)?.[1];
    if (room !== undefined && file !== undefined) files.push(join(room, file));
  }
  return files;
}
