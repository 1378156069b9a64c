import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { featureGates } from "../generated/feature-gates.ts";
import { gateSupport } from "./gate-support.ts";

/** Names of gates in the code, without what only lists them. */
function gatesInCode(): readonly string[] {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
    (path) =>
      path.endsWith(".ts") &&
      !/\.test\.ts$|generated\/|^config\/(?:support|cis)\/|^config\/feature-gates/.test(path),
  );
  const found = new Set<string>();
  for (const path of files) {
    const texts = readFileSync(`src/${path}`, "utf8").match(/"[A-Z][A-Za-z]+"/g) ?? [];
    for (const text of texts) {
      const name = text.slice(1, -1);
      if (Object.hasOwn(featureGates, name) && featureGates[name]?.isLocked === false) {
        found.add(name);
      }
    }
  }
  return [...found].toSorted();
}

test("the gates that are said to be acted on are those that the code asks for", () => {
  const acted = Object.entries(gateSupport).filter(([, { treatment }]) => treatment === "acted");
  expect(gatesInCode()).toEqual(acted.map(([name]) => name).toSorted());
});

test("the table names gates of v1.36 that can be switched", () => {
  const names = Object.keys(gateSupport);
  expect(names.filter((name) => featureGates[name]?.isLocked !== false)).toEqual([]);
});
