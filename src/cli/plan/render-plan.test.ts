import { expect, test } from "vitest";
import type { ManifestPlan } from "../../app/plan-manifest.ts";
import { painter } from "../output/colour.ts";
import { isAccepted, renderPlan } from "./render-plan.ts";

test("a second object of one name is refused, without a word on the rest of its file", () => {
  const path = "/pods/b.yaml";
  const message = "Pod default/web is already defined in /pods/a.yaml";
  const other = { type: "Secret", namespace: "default", name: "key", keys: [] } as const;
  const plan: ManifestPlan = {
    files: [
      {
        path,
        documents: [
          { kind: "object", line: 1, ...other },
          { kind: "doubled", problems: [{ origin: path, line: 3, message }] },
        ],
      },
    ],
    ignored: [],
  };
  expect(isAccepted(plan)).toBe(false);
  expect(renderPlan(plan, painter(false))).toBe(
    `/pods/b.yaml\n  line 1: accepted Secret default/key\n    keys: none\n\n  refused\n    line 3: ${message}\n\n`,
  );
});
