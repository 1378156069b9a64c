import { expect, test } from "vitest";
import { formatFieldError } from "./field-error.ts";
import { validateRuntimeClass } from "./validate-runtime-class.ts";

const metadata = { name: "sandboxed" };

test("a name and a handler make a runtime class", () => {
  expect(validateRuntimeClass({ metadata, handler: "runsc" })).toEqual([]);
});

test.each([
  [{ metadata, handler: "" }, "handler: Required value"],
  [
    { metadata, handler: "Run_SC" },
    'handler: Invalid value: "Run_SC": a lowercase RFC 1123 label must consist of',
  ],
  [
    { metadata: { ...metadata, namespace: "team" }, handler: "runsc" },
    "metadata.namespace: Forbidden: not allowed on this type",
  ],
  [{ handler: "runsc" }, "metadata.name: Required value"],
  [
    { metadata, handler: "runsc", overhead: { podFixed: { cpu: "1" } } },
    "overhead: Forbidden: without a cluster, set `spec.overhead` of the pods",
  ],
  [{ metadata, handler: "runsc", scheduling: {} }, "scheduling: Forbidden: without a cluster, "],
])("%j is refused by the field's name", (runtimeClass, message) => {
  const errors = validateRuntimeClass(runtimeClass).map(formatFieldError);
  expect(errors).toEqual([expect.stringContaining(message)]);
});
