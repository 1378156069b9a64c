// `npm test` and `npm run ok`: everything CI does, step by step; ends with the line "N passed, N failed".
// usage: node tools/check/main.mjs [STEP...] (all steps without arguments)
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { newerNode } from "../newer-node.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const reports = mkdtempSync(join(tmpdir(), "berth-check-"));

/** Each step answers how many of its checks passed and failed. */
const steps = {
  types: () =>
    sum(
      ["tsconfig.json", "test/browser/tsconfig.json", "web/tsconfig.json"].map((path) =>
        one("node_modules/.bin/tsc", ["--noEmit", "-p", path]),
      ),
    ),
  lint: () => one("node_modules/.bin/oxlint", ["--type-aware", "--deny-warnings"]),
  "regular-expressions": () => one(process.execPath, ["tools/regular-expressions/main.mjs"]),
  format: () => one("node_modules/.bin/biome", ["check", "."]),
  generated: () => one(process.execPath, ["tools/run.mjs", "tools/generate/main.ts", "--check"]),
  "dead-code": () => one("node_modules/.bin/knip", []),
  // The same without tests: what only they keep alive is dead, too.
  "test-only-code": () => one("node_modules/.bin/knip", ["--config", "knip.production.jsonc"]),
  build: () => one(process.execPath, ["tools/build.mjs"]),
  unit: () => tests(process.execPath, "unit"),
  "unit-node-24": () => tests(newerNode(), "unit"),
  vectors: () => tests(process.execPath, "vectors"),
  // Whole lives of the agent by seed, and that they notice what is broken on purpose.
  sim: () => simulated(),
  // Mostly waiting for containers: more files at once than there are cores.
  integration: () => testsWithGo("integration", ["csi-", "devices-"], ["--maxWorkers=4"]),
  // The page of an agent, real and simulated, in a browser.
  browser: () => testsOnMachine("browser", ["--maxWorkers=2"]),
  // What pods, requests and hung disks do to freeze or kill the agent: one file for each attack.
  hostile: () => testsOnMachine("hostile", ["--maxWorkers=2"]),
  // On two cores, more clusters at once only make each other slow.
  cluster: () => testsWithGo("cluster", [""], ["--maxWorkers=2"]),
  // Compares the order of calls in time: nothing else runs beside it.
  golden: () => testsOnMachine("golden"),
  // Only that it works: times on a busy machine say nothing.
  bench: () => benchWorks(),
};

function one(program, args) {
  const { status } = spawnSync(program, args, { cwd: root, stdio: "inherit" });
  return status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function sum(results) {
  const total = (key) => results.reduce((sum, result) => sum + result[key], 0);
  return { passed: total("passed"), failed: total("failed") };
}

function tests(node, project) {
  return counted(project, runTests(node, project));
}

/**
 * Tests on real runtimes share few cores with each other: files of which something failed run again, with the
 * machine to themselves and with nothing left of the first time. What fails again is broken; the rest is named.
 */
function testsOnMachine(project, flags = []) {
  const files = runTests(process.execPath, project, flags);
  const again = files.filter(({ status }) => status !== "passed");
  if (again.length === 0) return counted(project, files);
  secondTries.push(...again.flatMap((file) => failuresOf(project, file)));
  console.log(`\n== ${project}: again, alone, what failed`);
  const names = again.map(({ name }) => relative(root, name));
  const second = runTests(process.execPath, project, [...names, "--no-file-parallelism"]);
  return counted(project, [...files.filter((file) => !again.includes(file)), ...second]);
}

/** What became of each file; of none where the run broke down. */
function runTests(node, project, flags = []) {
  const report = join(mkdtempSync(join(reports, "run-")), "report.json");
  const args = ["node_modules/vitest/vitest.mjs", "run", "--project", project, ...flags];
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = spawnSync(node, [...args, ...reporters], { cwd: root, stdio: "inherit" });
  if (!existsSync(report)) return [];
  const { testResults: files } = JSON.parse(readFileSync(report, "utf8"));
  const failedOutside = status !== 0 && files.every((file) => file.status === "passed");
  return failedOutside ? [...files, { ...noFile, message: `vitest ended with ${status}` }] : files;
}

/** Stands for what failed outside every test. */
const noFile = { name: root, status: "failed", assertionResults: [] };

function counted(project, files) {
  const seen = files.length === 0 ? [{ ...noFile, message: "no tests were run" }] : files;
  const failed = seen.flatMap((file) => failuresOf(project, file));
  failures.push(...failed);
  const all = seen.flatMap(({ assertionResults }) => assertionResults);
  return { passed: all.filter(({ status }) => status === "passed").length, failed: failed.length };
}

/** What failed in a file of tests, and why; a file that could not be loaded failed as a whole. */
function failuresOf(project, file) {
  const where = `${project} ${relative(root, file.name)}`;
  const failed = file.assertionResults.filter(({ status }) => status === "failed");
  // A file that cannot even be loaded fails without a failed test.
  if (failed.length === 0) return file.status === "failed" ? [`${where}\n${file.message}`] : [];
  return failed.map((test) => `${where} > ${test.fullName}\n${test.failureMessages.join("\n")}`);
}

function simulated() {
  const simulator = ["tools/newer-node.mjs", "tools/run.mjs", "test/sim/main.ts"];
  const seeds = one(process.execPath, [...simulator, "--seeds", "250"]);
  const mutants = one(process.execPath, ["tools/run.mjs", "test/sim/mutants/main.ts"]);
  return { passed: seeds.passed + mutants.passed, failed: seeds.failed + mutants.failed };
}

/**
 * Tests of which some need what is built with Go: a real control plane, foreign drivers and plugins. It is built first unless it
 * was before; where it cannot be, the files whose names begin so are left out.
 */
function testsWithGo(project, beginnings, flags) {
  const { status } = spawnSync(process.execPath, ["tools/cluster/main.mjs"], {
    cwd: root,
    stdio: "inherit",
  });
  if (status === 0) return testsOnMachine(project, flags);
  const all = readdirSync(join(root, "test", project)).filter((name) => name.endsWith(".test.ts"));
  const files = all.filter((name) => beginnings.some((text) => name.startsWith(text)));
  const names = files.map((name) => `test/${project}/${name}`);
  const excluded = names.map((name) => `--exclude=${name}`);
  const rest =
    files.length === all.length
      ? { passed: 0, failed: 0 }
      : testsOnMachine(project, [...flags, ...excluded]);
  const noGo = 3;
  const isFailure = status !== noGo || process.env.CI === "true";
  if (status === noGo) {
    leftOut.push(
      `the tests on a real control plane or foreign drivers (${names.join(", ")})`,
      `  There is no Go here to build it with: install Go 1.21 or newer and run node tools/check/main.mjs ${project}`,
    );
  }
  return { ...rest, failed: rest.failed + (isFailure ? 1 : 0) };
}

/** The benchmark in its smallest size; without a control plane where none can be built. */
function benchWorks() {
  const built = spawnSync(process.execPath, ["tools/cluster/main.mjs"], { cwd: root });
  const file = join(reports, "bench.json");
  const mode = built.status === 0 ? [] : ["--standalone"];
  const command = ["tools/run.mjs", "test/bench/main.ts", "--smoke", "--json", file];
  const { passed } = one(process.execPath, [...command, ...mode]);
  const isWhole = passed === 1 && JSON.parse(readFileSync(file, "utf8")).results.length > 0;
  return isWhole ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(steps, name));
if (unknown.length > 0) {
  console.error(`no step ${unknown.join(", ")}: there are ${Object.keys(steps).join(", ")}`);
  process.exit(2);
}
const results = {};
const leftOut = [];
const failures = [];
const secondTries = [];
for (const [name, run] of Object.entries(steps)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n== ${name}`);
  const startedMs = Date.now();
  results[name] = { ...run(), seconds: (Date.now() - startedMs) / 1000 };
}
rmSync(reports, { recursive: true });

// Repeated here, since what comes last is what a long log is kept of.
for (const failure of secondTries) console.log(`\nFAILED AT FIRST: ${failure}`);
for (const failure of failures) console.log(`\nFAILED: ${failure}`);
console.log("");
for (const [name, { passed, failed, seconds }] of Object.entries(results)) {
  const text = `${passed} passed${failed === 0 ? "" : `, ${failed} FAILED`}`;
  console.log(`${name.padEnd(14)} ${seconds.toFixed(1).padStart(6)} s  ${text}`);
}
if (leftOut.length > 0) console.log(`\nLEFT OUT: ${leftOut.join("\n")}\n`);
const total = (key) => Object.values(results).reduce((sum, result) => sum + result[key], 0);
console.log(`${total("passed")} passed, ${total("failed")} failed`);
process.exitCode = total("failed") === 0 ? 0 : 1;
