import { expect, test } from "vitest";
import { labelSelectorOf, parseLabelSelector } from "./label-selector.ts";

const labels = { app: "web", "example.com/tier": "front", empty: "" };

test.each([
  ["", true],
  ["app=web", true],
  ["app == web", true],
  ["app!=web", false],
  ["missing!=web", true],
  ["app in (db, web),example.com/tier=front", true],
  ["app in (db,cache)", false],
  ["missing in (web)", false],
  ["app notin (db)", true],
  ["missing notin (db)", true],
  ["app", true],
  ["!app", false],
  ["!missing", true],
  ["empty=", true],
  ["app=", false],
  ["toString", false],
])("%j selects the labels: %s", (text, expected) => {
  const selector = parseLabelSelector(text);
  expect(selector.ok && selector.value(labels)).toBe(expected);
});

test.each(["app=web=db", "app in web", "=web", "a=b,,c=d", "app in (a b)", "-x=1"])(
  "%j is refused, naming the part that cannot be read",
  (text) => {
    expect(parseLabelSelector(text)).toMatchObject({
      ok: false,
      error: expect.stringContaining("unable to parse requirement"),
    });
  },
);

test.each([
  [undefined, false],
  [{}, true],
  [{ matchLabels: { app: "web" } }, true],
  [{ matchLabels: { app: "web", "example.com/tier": "back" } }, false],
  [{ matchExpressions: [{ key: "app", operator: "In", values: ["db", "web"] }] }, true],
  [{ matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] }, false],
  [{ matchExpressions: [{ key: "missing", operator: "NotIn", values: ["web"] }] }, true],
  [{ matchExpressions: [{ key: "empty", operator: "Exists" }] }, true],
  [{ matchExpressions: [{ key: "toString", operator: "Exists" }] }, false],
  [{ matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
  [{ matchExpressions: [{ key: "app", operator: "Like", values: ["web"] }] }, false],
])("the fields %j select the labels: %s", (fields, expected) => {
  expect(labelSelectorOf(fields)(labels)).toBe(expected);
});
