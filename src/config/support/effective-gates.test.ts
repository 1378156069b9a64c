import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { featureGates } from "../generated/feature-gates.ts";
import { effectiveGates } from "./effective-gates.ts";

/** Names of gates in the code, without what only lists them or only allows settings by them. */
function gatesInCode(): readonly string[] {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
    (path) =>
      path.endsWith(".ts") &&
      !/\.test\.ts$|generated\/|^config\/(?:validate|support|cis)\/|^config\/feature-gates/.test(
        path,
      ),
  );
  const found = new Set<string>();
  for (const path of files) {
    const texts = readFileSync(`src/${path}`, "utf8").match(/"[A-Z][A-Za-z]+"/g) ?? [];
    for (const text of texts) if (Object.hasOwn(featureGates, text.slice(1, -1))) found.add(text);
  }
  return [...found].map((text) => text.slice(1, -1)).toSorted();
}

test("the gates that are said to have an effect are those that the code asks for", () => {
  expect(gatesInCode()).toEqual(effectiveGates);
});
