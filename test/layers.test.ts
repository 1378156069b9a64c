import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { impureGlobals, layers, maxFileLines, pageLayer } from "../tools/layers.ts";
import { ownFiles } from "../tools/own-files.ts";

interface SourceFile {
  readonly path: string;
  readonly layer: string;
  readonly text: string;
}

const files = listSources("src");

describe("the layer table", () => {
  test("names exactly the folders of src", () => {
    const folders = readdirSync("src", { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(folders.map(({ name }) => name).toSorted()).toEqual(Object.keys(layers).toSorted());
  });

  test("is read against a tree with files in it", () => {
    expect(files.length).toBeGreaterThan(50);
  });

  test("allows every import in src", () => {
    expect(files.flatMap(badImports)).toEqual([]);
  });

  test("leaves no circle of imports, not even of types", () => {
    expect(importCycles(files)).toEqual([]);
  });

  test("lets exactly the listed files open files", () => {
    const opens = files
      .filter(({ path }) => !path.endsWith(".test.ts") && !path.includes("/linux/foreign/"))
      .filter(({ text }) => importsOf(text).some((name) => /^(node:)?fs(\/|$)/.test(name)))
      .map(({ path }) => path);
    expect(opens.toSorted()).toEqual(ownFiles.filter((path) => !path.endsWith("**")).toSorted());
  });

  test("keeps clocks, randomness, timers and the process out of the pure layers", () => {
    const impure = new RegExp(
      `(?<![.\\w"'\`])(${impureGlobals.join("|")})\\b(?!["'\`:])|Math\\.random`,
    );
    const found = files
      .filter(
        ({ layer, path }) =>
          layers[layer]?.pure === true && !/\.test\.ts$|\/generated\//.test(path),
      )
      .filter(({ text }) => impure.test(withoutCommentsAndStrings(text)))
      .map(({ path }) => path);
    expect(found).toEqual([]);
  });
});

describe("the page", () => {
  const page = listSources("web").filter(({ path }) => !path.endsWith(".test.ts"));

  test("is read", () => {
    expect(page.length).toBeGreaterThan(10);
  });

  test("imports pure code of src, and of what answers it types alone", () => {
    const found = page.flatMap(({ path, text }) =>
      importStatements(text)
        .filter((statement) => !mayPageImport(path, statement))
        .map(({ specifier }) => `${path} imports ${specifier}`),
    );
    expect(found).toEqual([]);
  });

  test("shows text as text, never as HTML", () => {
    const sinks =
      /innerHTML|outerHTML|insertAdjacentHTML|setHTML|dangerously|document\.write|DOMParser|srcdoc|createContextualFragment|\beval\b|new Function|javascript:/i;
    const found = page.filter(({ text }) => sinks.test(text)).map(({ path }) => path);
    expect(found).toEqual([]);
  });
});

describe("every source file", () => {
  test(`has at most ${maxFileLines} lines`, () => {
    const sources = ["src", "test", "tools", "web"].flatMap(listSources);
    const long = sources
      .filter(({ path }) => !path.includes("/generated/"))
      .filter(({ text }) => text.split("\n").length - 1 > maxFileLines)
      .map(({ path }) => path);
    expect(long).toEqual([]);
  });

  test("gives a reason on the line of a lint exception", () => {
    const sources = ["src", "test", "tools", "web"].flatMap(listSources);
    const bare = sources
      .filter(({ path }) => !path.includes("/generated/") && path !== "test/layers.test.ts")
      .flatMap(({ path, text }) =>
        text
          .split("\n")
          .filter((line) =>
            /(oxlint|eslint)-disable|biome-ignore|@ts-(ignore|expect-error)/.test(line),
          )
          .filter((line) => !/ -- \S+|: \S+ \S+/.test(line))
          .map((line) => `${path}: ${line.trim()}`),
      );
    expect(bare).toEqual([]);
  });
});

function badImports({ path, layer, text }: SourceFile): string[] {
  const rule = layers[layer];
  if (rule === undefined) return [`${path} is in no layer`];
  if (path.endsWith(".test.ts")) return [];
  return importsOf(text)
    .filter((specifier) => !isAllowed(path, layer, specifier))
    .map((specifier) => `${path} imports ${specifier}`);
}

function isAllowed(path: string, layer: string, specifier: string): boolean {
  const rule = layers[layer];
  if (rule === undefined) return false;
  if (!specifier.startsWith(".")) return rule.world;
  const target = normalize(join(dirname(path), specifier)).split("/");
  if (target[0] !== "src" || target[1] === undefined) return false;
  if (target[1] !== layer) return rule.imports.includes(target[1]);
  // Sibling drivers translate different worlds; what two of them need belongs to model or lib, or is the way all of them talk.
  return layer !== "drivers" || target[2] === path.split("/")[2] || target[2] === "grpc";
}

/** For each file that imports itself over others, the shortest way around. */
function importCycles(sources: readonly SourceFile[]): string[] {
  const imports = new Map(
    sources.map(({ path, text }) => [
      path,
      importsOf(text)
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => normalize(join(dirname(path), specifier))),
    ]),
  );
  const wayBack = (start: string): string | undefined => {
    const ways = new Map([[start, start]]);
    for (const [path, way] of ways) {
      for (const next of imports.get(path) ?? []) {
        if (next === start) return `${way} > ${start}`;
        if (!ways.has(next)) ways.set(next, `${way} > ${next}`);
      }
    }
    return undefined;
  };
  return [...imports.keys()].flatMap((path) => wayBack(path) ?? []);
}

function importsOf(text: string): string[] {
  const pattern =
    /(?:^|\n)(?:(?:import|export)\s[^;"'`]*?from\s+|import\s+)["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/g;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? "");
}

interface ImportStatement {
  readonly specifier: string;
  readonly isOfTypes: boolean;
}

function importStatements(text: string): ImportStatement[] {
  const ofTypes = new Set(
    [...text.matchAll(/(?:^|\n)(?:import|export) type\s[^;"']*?from\s+["']([^"']+)["']/g)].map(
      ([, specifier = ""]) => specifier,
    ),
  );
  return importsOf(text).map((specifier) => ({ specifier, isOfTypes: ofTypes.has(specifier) }));
}

function mayPageImport(path: string, { specifier, isOfTypes }: ImportStatement): boolean {
  if (!specifier.startsWith(".")) {
    return pageLayer.packages.some((name) => `${specifier}/`.startsWith(`${name}/`));
  }
  const [top, layer = ""] = normalize(join(dirname(path), specifier)).split("/");
  if (top === "web") return true;
  const allowed = isOfTypes ? [...pageLayer.imports, ...pageLayer.types] : pageLayer.imports;
  return top === "src" && allowed.includes(layer);
}

function withoutCommentsAndStrings(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\/\/.*$/gm, "")
    .replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, '""')
    .replace(/`(?:\\.|[^`\\])*`/g, (template) => template.match(/\$\{[^}]*\}/g)?.join(" ") ?? "");
}

function listSources(root: string): SourceFile[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => {
      const path = relative(".", join(entry.parentPath, entry.name));
      return { path, layer: path.split("/")[1] ?? "", text: readFileSync(path, "utf8") };
    });
}
