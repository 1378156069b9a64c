import { expect, test } from "vitest";
import { checkNode } from "./preflight-node.ts";

test.each([
  ["v20.19.0", "2026-04-30T23:59:59Z", "ok"],
  ["v20.19.0", "2026-05-01T00:00:00Z", "warning"],
  ["v25.1.0", "2026-11-18T00:00:00Z", "warning"],
  ["v24.21.0", "2026-11-18T00:00:00Z", "ok"],
  ["v40.0.0", "2026-11-18T00:00:00Z", "ok"],
])("Node.js %s at %s: %s", (version, now, status) => {
  expect(checkNode(version, Date.parse(now)).status).toBe(status);
});

test("the warning says since when, and what to install", () => {
  const { found, fix } = checkNode("v20.20.2", Date.parse("2026-11-18T00:00:00Z"));
  expect(found).toBe("v20.20.2 has had no security fixes since 2026-04-30");
  expect(fix).toContain("Node.js 24");
});
