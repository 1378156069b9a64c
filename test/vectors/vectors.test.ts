import { describe, expect, test } from "vitest";
import { vectorDomains } from "./domains.ts";
import { loadVectorFile } from "./load-vectors.ts";
import { runDomain } from "./run-domain.ts";

describe("upstream's answers", () => {
  test.each(vectorDomains.map((domain) => ({ domain, name: domain.name })))(
    "$name",
    async ({ domain }) => {
      const report = await runDomain(
        domain,
        loadVectorFile(`test/vectors/dev/${domain.name}.json.gz`),
      );
      console.log(`${domain.name}: ${report.passed}/${report.total}`);
      expect(report.failures.slice(0, 3)).toEqual([]);
      expect(report.total).toBeGreaterThan(0);
    },
  );
});
