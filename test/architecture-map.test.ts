import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const text = readFileSync("docs/ARCHITECTURE.md", "utf8");

test("the map of rooms in docs/ARCHITECTURE.md has exactly the files of the engine", () => {
  const files = engineFiles();
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

test("every slice of a pod has one writer in the engine", () => {
  const slices = [
    ...readFileSync("src/engine/pods/pod-table.ts", "utf8").matchAll(
      /Writer: [^*]*\*\/\n {2}readonly (\w+):/g,
    ),
  ].map(([, name = ""]) => name);
  expect(slices.length).toBeGreaterThan(20);
  const writers = engineFiles().flatMap((path) =>
    [...readFileSync(path, "utf8").matchAll(/\.writer\("(\w+)"\)/g)].map(([, name = ""]) => name),
  );
  expect(writers.toSorted()).toEqual(slices.toSorted());
});

function engineFiles(): string[] {
  return readdirSync("src/engine", { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name));
}

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
