// `npm run package`: makes the packages that people install, and a list of their checksums.
// usage: node tools/run.mjs tools/package/main.ts [--out FOLDER] [npm|deb|executable...] (all unless named)
//        node tools/run.mjs tools/package/main.ts --try SUITE (tries all on a clean Debian of that name, such as trixie)
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { makeDebianPackage } from "./debian-package.ts";
import { makeExecutable } from "./executable.ts";
import { makeNpmPackage } from "./npm-package.ts";
import { lastCommitSeconds, repository } from "./package-source.ts";

const makers = { npm: makeNpmPackage, deb: makeDebianPackage, executable: makeExecutable };

function isKind(name: string): name is keyof typeof makers {
  return Object.hasOwn(makers, name);
}

const { values, positionals } = parseArgs({
  options: { out: { type: "string", default: "packages" }, try: { type: "string" } },
  allowPositionals: true,
});
if (values.try === undefined) await makePackages(values.out);
else process.exitCode = tryOn(values.try);

/** The tests of the packages, on that Debian. */
function tryOn(suite: string): number {
  const files = ["npm", "debian", "executable"].map(
    (kind) => `test/integration/package-${kind}.test.ts`,
  );
  const args = ["vitest", "run", "--project", "integration", "--no-file-parallelism", ...files];
  const { status } = spawnSync("npx", args, {
    cwd: repository,
    stdio: "inherit",
    env: { ...process.env, BERTH_DEBIAN_SUITE: suite },
  });
  return status ?? 1;
}

async function makePackages(out: string): Promise<void> {
  const kinds = positionals.length === 0 ? Object.keys(makers) : positionals;
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "berth-package-"));
  const lines: string[] = [];
  try {
    for (const kind of kinds) {
      if (!isKind(kind)) {
        throw new Error(`no package ${kind}: there are ${Object.keys(makers).join(", ")}`);
      }
      const folder = join(work, kind);
      mkdirSync(folder);
      const file = await makers[kind]({ folder, out, modifiedSeconds: lastCommitSeconds() });
      const bytes = readFileSync(file);
      lines.push(`${createHash("sha256").update(bytes).digest("hex")}  ${basename(file)}`);
      console.log(`${file}: ${(bytes.length / 2 ** 20).toFixed(1)} MiB`);
    }
    writeFileSync(join(out, "SHA256SUMS"), `${lines.join("\n")}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
