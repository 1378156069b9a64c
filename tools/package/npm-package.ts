import { join, resolve } from "node:path";
import { buildProgram } from "../build.mjs";
import { billOfMaterials, bundledPackages, licenceTexts } from "./bundled-packages.ts";
import { libraryExports, libraryTypes } from "./library-types.ts";
import { manPages } from "./man-pages.ts";
import {
  type PackageJob,
  putFile,
  readManifest,
  readRepositoryFile,
  repository,
  runTool,
  settle,
} from "./package-source.ts";

/**
 * For `npm install`: one program and one library for every machine with a Node, and nothing to be run or fetched when it is
 * installed.
 */
export async function makeNpmPackage({
  folder,
  out,
  modifiedSeconds,
}: PackageJob): Promise<string> {
  const { name, version, description, license, engines } = readManifest();
  const root = join(folder, "package");
  const sources = await buildProgram({
    root: repository,
    outdir: join(root, "dist"),
    builtAs: "the npm package",
    interpreter: "/usr/bin/env node",
    sourcemap: false,
  });
  const pages = manPages();
  for (const [page, text] of pages) putFile(join(root, "man", page), text);
  const manifest = {
    name,
    version,
    description,
    license,
    type: "module",
    bin: { berth: "dist/berth.js" },
    exports: { ...libraryExports, "./package.json": "./package.json" },
    man: [...pages.keys()].map((page) => `./man/${page}`),
    engines,
    os: ["linux"],
  };
  putFile(join(root, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of ["README.md", "CHANGELOG.md", "LICENSE"]) {
    putFile(join(root, file), readRepositoryFile(file));
  }
  for (const [name, text] of libraryTypes()) putFile(join(root, "types", name), text);
  const packages = bundledPackages(sources);
  putFile(join(root, "THIRD-PARTY-LICENSES"), licenceTexts(packages));
  putFile(join(root, "sbom.cdx.json"), billOfMaterials(packages, modifiedSeconds));
  settle(root, modifiedSeconds);
  const file = resolve(out, `${name}-${version}.tgz`);
  const order = ["--sort=name", "--format=ustar", `--mtime=@${modifiedSeconds}`];
  const owner = ["--owner=0", "--group=0", "--numeric-owner"];
  // Without the time and the name of the file, which gzip would add.
  const compress = ["--use-compress-program", "gzip -9n"];
  runTool("tar", [...order, ...owner, ...compress, "-C", folder, "-cf", file, "package"]);
  return file;
}
