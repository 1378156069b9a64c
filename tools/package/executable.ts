import { chmodSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build, transform } from "esbuild";
import { buildProgram } from "../build.mjs";
import { bundledPackages } from "./bundled-packages.ts";
import { embedData } from "./executable-file.ts";
import {
  filesBelow,
  type PackageJob,
  putFile,
  readManifest,
  repository,
  runTool,
} from "./package-source.ts";
import { allLicences, billWithNode, packedNode } from "./packed-node.ts";

const program = "berth.js";
const start = "start.js";

/** One file with its own Node: what Node calls a single executable application. */
export async function makeExecutable({
  folder,
  out,
  modifiedSeconds,
}: PackageJob): Promise<string> {
  const node = packedNode();
  const sources = await buildProgram({
    root: repository,
    outdir: folder,
    builtAs: "the executable",
    interpreter: node.program,
    sourcemap: false,
  });
  const parts: string[] = [];
  for (const name of filesBelow(folder).filter(isCode)) {
    const code = await asCommonJs(readFileSync(join(folder, name), "utf8"));
    // A thread gets the text of its program, and has all that it needs.
    if (!isThread(name)) parts.push(name);
    putFile(join(folder, name), isThread(name) ? code : asFunction(code));
  }
  // The program itself comes last: it begins to run when it is loaded.
  const inOrder = [...parts.filter((name) => name !== program), program];
  const compiler = join(repository, "tools/package/code-cache.mjs");
  // Without the flag V8's hash tables, which are part of it, differ each time.
  runTool(node.program, ["--predictable", compiler, folder, ...inOrder]);
  runTool(node.program, [compiler, "--check", folder, ...inOrder]);
  const packages = bundledPackages(sources);
  putFile(join(folder, "THIRD-PARTY-LICENSES"), allLicences(node, packages));
  putFile(join(folder, "sbom.cdx.json"), billWithNode(node, packages, modifiedSeconds));
  const assets = filesBelow(folder);
  await putStart(folder);
  const { name, version } = readManifest();
  const file = resolve(out, `${name}-${version}-linux-${process.arch}`);
  writeFileSync(
    file,
    embedData(readFileSync(node.program), makeData(folder, assets, node.program)),
  );
  chmodSync(file, 0o755);
  utimesSync(file, modifiedSeconds, modifiedSeconds);
  return file;
}

function isCode(name: string): boolean {
  return name === program || name.startsWith("parts/");
}

function isThread(name: string): boolean {
  return name.endsWith("-thread.js");
}

/** The main program of such an executable is CommonJS, and modules can be loaded from nowhere but files. */
async function asCommonJs(code: string): Promise<string> {
  const { code: made } = await transform(code.replace(/^#!.*\n/, ""), {
    format: "cjs",
    platform: "node",
    target: "node24",
    supported: { "dynamic-import": false },
    // Nothing is read from there: what is bundled asks for Node's own modules only.
    define: { "import.meta.url": '"file:///berth/"', "import.meta.dirname": '"/berth"' },
    minifyWhitespace: true,
  });
  return made;
}

function asFunction(code: string): string {
  return `(function(exports,require,module){${code}\n})`;
}

async function putStart(folder: string): Promise<void> {
  await build({
    entryPoints: [join(repository, "tools/package/executable-start.ts")],
    outfile: join(folder, start),
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node24",
    logLevel: "error",
  });
}

/** What Node looks for in its own program. */
function makeData(folder: string, assets: readonly string[], node: string): Buffer {
  const data = "executable.data";
  const config = {
    main: start,
    output: data,
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries(assets.map((name) => [name, name])),
  };
  putFile(join(folder, "executable.json"), JSON.stringify(config));
  runTool(node, ["--experimental-sea-config", "executable.json"], {}, folder);
  return readFileSync(join(folder, data));
}
