import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { newerNode } from "../newer-node.mjs";
import { type BundledPackage, billOfMaterials, licenceTexts } from "./bundled-packages.ts";
import { runTool } from "./package-source.ts";

/** The Node that packages carry. */
export interface PackedNode {
  readonly program: string;
  readonly version: string;
}

export function packedNode(): PackedNode {
  const program = newerNode();
  return { program, version: runTool(program, ["--version"]).trim().slice(1) };
}

/** The licences of Node and of what is bundled. */
export function allLicences(node: PackedNode, packages: readonly BundledPackage[]): string {
  const licence = readFileSync(join(dirname(dirname(node.program)), "LICENSE"), "utf8");
  return `Node.js ${node.version}\n${licence}\n\n${licenceTexts(packages)}`;
}

/** The bill of materials of a package that carries Node. */
export function billWithNode(
  { version }: PackedNode,
  packages: readonly BundledPackage[],
  modifiedSeconds: number,
): string {
  const node = { name: "node", version, license: "MIT" };
  return billOfMaterials(packages, modifiedSeconds, node);
}
