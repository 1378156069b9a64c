// `npm run package`: makes the packages that people install, and a list of their checksums.
// usage: node tools/run.mjs tools/package/main.ts [--out FOLDER] [npm|deb|executable...] (all unless named)
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { makeDebianPackage } from "./debian-package.ts";
import { makeExecutable } from "./executable.ts";
import { makeNpmPackage } from "./npm-package.ts";
import { lastCommitSeconds } from "./package-source.ts";

const makers = { npm: makeNpmPackage, deb: makeDebianPackage, executable: makeExecutable };

function isKind(name: string): name is keyof typeof makers {
  return Object.hasOwn(makers, name);
}

const { values, positionals } = parseArgs({
  options: { out: { type: "string", default: "packages" } },
  allowPositionals: true,
});
const kinds = positionals.length === 0 ? Object.keys(makers) : positionals;
mkdirSync(values.out, { recursive: true });
const work = mkdtempSync(join(tmpdir(), "berth-package-"));
const lines: string[] = [];
try {
  for (const kind of kinds) {
    if (!isKind(kind)) {
      throw new Error(`no package ${kind}: there are ${Object.keys(makers).join(", ")}`);
    }
    const folder = join(work, kind);
    mkdirSync(folder);
    const file = await makers[kind]({
      folder,
      out: values.out,
      modifiedSeconds: lastCommitSeconds(),
    });
    const bytes = readFileSync(file);
    lines.push(`${createHash("sha256").update(bytes).digest("hex")}  ${basename(file)}`);
    console.log(`${file}: ${(bytes.length / 2 ** 20).toFixed(1)} MiB`);
  }
  writeFileSync(join(values.out, "SHA256SUMS"), `${lines.join("\n")}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
