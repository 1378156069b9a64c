// The npm packages of which the build bundles something: their licences and a bill of materials.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Manifest, readManifest, repository } from "./package-source.ts";

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The text of its licence. */
  readonly text: string;
}

/** `sources` as the build returns them, relative to the repository. */
export function bundledPackages(sources: readonly string[]): readonly BundledPackage[] {
  const folders = new Set(
    sources.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []),
  );
  return [...folders].toSorted().map((folder) => readPackage(join(repository, folder)));
}

function readPackage(folder: string): BundledPackage {
  const { name, version, license }: Manifest = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim();
  return { name, version, license, text };
}

/** Each licence text once, with the packages that it is for. */
export function licenceTexts(packages: readonly BundledPackage[]): string {
  const namesByText = new Map<string, string[]>();
  for (const { name, version, license, text } of packages) {
    const key = `${license}\n\n${text}`;
    namesByText.set(key, [...(namesByText.get(key) ?? []), `${name} ${version}`]);
  }
  const parts = [...namesByText].map(([text, names]) => `${names.join(", ")}\n${text}\n`);
  return `Berth contains parts of these packages.\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** A bill of materials in the format CycloneDX. `program` is what else the package carries, such as Node. */
export function billOfMaterials(
  packages: readonly BundledPackage[],
  modifiedSeconds: number,
  program?: { readonly name: string; readonly version: string; readonly license: string },
): string {
  const { name, version, license } = readManifest();
  const component = (part: Omit<BundledPackage, "text">, type: string) => ({
    type,
    name: part.name,
    version: part.version,
    licenses: [{ license: { id: part.license } }],
    purl: `pkg:npm/${part.name.replace("@", "%40")}@${part.version}`,
  });
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(modifiedSeconds * 1000).toISOString(),
      component: component({ name, version, license }, "application"),
    },
    components: [
      ...(program === undefined ? [] : [component(program, "application")]),
      ...packages.map((part) => component(part, "library")),
    ],
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}
