import { expect, test } from "vitest";
import { bundlePage } from "../tools/build-page.mjs";

const maxScriptBytes = 150_000;

test(`all scripts of the page together take at most ${maxScriptBytes} bytes compressed`, async () => {
  const { files } = await bundlePage(process.cwd());
  const scripts = [...files].filter(([path]) => path.endsWith(".js.gz"));
  const total = scripts.reduce((sum, [, { length }]) => sum + length, 0);
  expect(scripts.length).toBeGreaterThan(0);
  expect(total).toBeLessThanOrEqual(maxScriptBytes);
});
