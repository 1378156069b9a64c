// The types of what programs import: of all files only those that its entries need.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { repository, runTool } from "./package-source.ts";

/** What programs import, with the files that the build and the compiler make of it. */
export const libraryExports = {
  ".": { types: "./types/library/node.d.ts", default: "./dist/parts/library.js" },
  "./plan": { types: "./types/library/plan.d.ts", default: "./dist/parts/library-plan.js" },
} as const;

const entries = ["library/node", "library/plan"];

/** The declaration files by their paths. */
export function libraryTypes(): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "berth-types-"));
  try {
    const outDir = join(folder, "types");
    const config = {
      extends: join(repository, "tsconfig.json"),
      compilerOptions: {
        noEmit: false,
        emitDeclarationOnly: true,
        outDir,
        rootDir: join(repository, "src"),
        typeRoots: [join(repository, "node_modules/@types")],
      },
      include: [],
      files: entries.map((entry) => join(repository, "src", `${entry}.ts`)),
    };
    const file = join(folder, "tsconfig.json");
    writeFileSync(file, JSON.stringify(config));
    const compiler = join(repository, "node_modules/typescript/bin/tsc");
    runTool(process.execPath, [compiler, "-p", file]);
    return neededFrom(outDir);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function neededFrom(root: string): ReadonlyMap<string, string> {
  const needed = new Map<string, string>();
  const waiting = entries.map((entry) => join(root, `${entry}.d.ts`));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const name = relative(root, path);
    if (needed.has(name)) continue;
    const text = readFileSync(path, "utf8");
    for (const [, specifier = ""] of text.matchAll(imported)) {
      waiting.push(join(dirname(path), specifier.replace(/\.ts$/, ".d.ts")));
    }
    // Not every compiler setting takes names of TypeScript files.
    needed.set(name, text.replace(imported, 'from "$1.js"').replaceAll('.ts.js"', '.js"'));
  }
  return new Map([...needed].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const imported = /from "(\.[^"]*)"/g;
