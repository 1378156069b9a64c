import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/**
 * Words and phrases that are not used, and what to write instead. They are matched by whole words in any case, also as
 * parts of names (`toldBefore`).
 */
const unused: readonly (readonly [pattern: string, instead: string])[] = [
  ["tell|tells|told|telling|untold", "report, log, return, notify, announce or send"],
  ["wish|wishes|wished", "update or request"],
  ["picture|pictures", "mirror pod, state or graph"],
  ["anew|afresh|once more", "again"],
  ["is other now|other than before", "changed"],
  ["for want of", "because there is no; an OOM kill is one"],
  ["hear|hears|heard|hearing|unheard", "receive, is notified or has delivered"],
  ["whoever", "the caller, client or process"],
  ["nobody|somebody", "the user, source, process or waiter; or the passive voice"],
  ["of its own accord", "by itself"],
  ["(?<!\\bthere )(?:is|are|was|were) no(?! longer\\b| more\\b)", "is not a"],
];

/** Kubernetes' own and the system's uses: what may stand in a line for its match to be fine. */
const allowed: readonly RegExp[] = [
  // The user of /etc/passwd.
  /nobody:x:65534/,
  // The address of a mail.
  /mail:somebody/,
  // What Kubernetes' own suites said of a spec that failed: docs/conformance.md.
  /^\| \[sig-[a-z]+\] /,
];

const folders = ["src", "test", "tools", "docs"];
/** Generated, or recorded from other programs. */
const notOurs = ["src/generated", "test/vectors/dev", "test/golden/recorded", "test/words.test.ts"];
const kinds = /\.(?:ts|mjs|md)$/;

function* filesBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (notOurs.includes(path)) continue;
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (kinds.test(entry.name)) yield path;
  }
}

/** "toldBefore" → "told Before": names are read as the words that they are made of. */
function spelledOut(line: string): string {
  return line.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ");
}

function findUnused(text: string): readonly string[] {
  const found: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (allowed.some((each) => each.test(line))) continue;
    for (const [pattern, instead] of unused) {
      const match = new RegExp(`\\b(?:${pattern})\\b`, "i").exec(spelledOut(line));
      if (match !== null) found.push(`${index + 1}: "${match[0]}" (write: ${instead})`);
    }
  }
  return found;
}

test("home-made words are found by whole words, in any case, and in names", () => {
  expect(findUnused("// Told by whoever waits")).toHaveLength(2);
  expect(findUnused("const toldBefore = wasTold();")).toHaveLength(1);
  expect(findUnused('"x" is no count')).toHaveLength(1);
  expect(findUnused("there is no pod; it is no longer there; a teller, a hearty wishlist")).toEqual(
    [],
  );
});

test("no file uses home-made words where Kubernetes or systems engineering has its own", () => {
  const topLevel = readdirSync(".").filter((name) => name.endsWith(".md"));
  const files = [...topLevel, ...folders.flatMap((folder) => [...filesBelow(folder)])];
  expect(files.length).toBeGreaterThan(1000);
  const found = files.flatMap((file) =>
    findUnused(readFileSync(file, "utf8")).map((each) => `${file}:${each}`),
  );
  expect(found).toEqual([]);
});
