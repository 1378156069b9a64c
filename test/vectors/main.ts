// `npm run vectors -- [--dir DIR] [--domain NAME] [--json]`: every vector of a folder against the production code.
import { parseArgs } from "node:util";
import { vectorDomains } from "./domains.ts";
import { listVectorFiles, loadVectorFile } from "./load-vectors.ts";
import { type DomainReport, runDomain } from "./run-domain.ts";

const shownFailures = 3;

const { values } = parseArgs({
  options: {
    dir: { type: "string", default: "test/vectors/dev" },
    domain: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

const reports: DomainReport[] = [];
const later: string[] = [];
for (const path of listVectorFiles(values.dir)) {
  const file = loadVectorFile(path);
  if (values.domain !== undefined && file.domain !== values.domain) continue;
  const domain = vectorDomains.find(({ name }) => name === file.domain);
  if (domain === undefined) later.push(file.domain);
  else reports.push(await runDomain(domain, file));
}
if (values.json) console.log(JSON.stringify({ reports, later }, null, 2));
else print();
const nothingRan = reports.length === 0;
if (nothingRan) console.error(`no vectors of a known domain in ${values.dir}`);
if (nothingRan || reports.some(({ failures }) => failures.length > 0)) process.exitCode = 1;

function print(): void {
  for (const { domain, total, passed, failures } of reports) {
    console.log(`${domain}: ${passed}/${total}`);
    for (const failure of failures.slice(0, shownFailures)) {
      console.log(`  ${failure.vector}`);
      for (const { path, expected, actual } of failure.differences) {
        console.log(`    ${path}`);
        console.log(`      expected ${shown(expected)}`);
        console.log(`      actual   ${shown(actual)}`);
      }
    }
  }
  for (const name of later) console.log(`${name}: belongs to a later part, not run`);
  const total = reports.reduce((sum, report) => sum + report.total, 0);
  const passed = reports.reduce((sum, report) => sum + report.passed, 0);
  console.log(`${passed} of ${total} vectors in ${reports.length} domains`);
}

function shown(value: unknown): string {
  if (typeof value === "string" && value.includes("\n    at ")) return value;
  return JSON.stringify(value) ?? "(absent)";
}
