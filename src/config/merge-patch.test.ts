import { expect, test } from "vitest";
import { type JsonNode, nodeText } from "../lib/json-node.ts";
import { parseJson } from "../lib/json-parser.ts";
import { mergePatch } from "./merge-patch.ts";

function object(text: string): JsonNode & { kind: "object" } {
  const parsed = parseJson(text);
  if (!parsed.ok || parsed.value.kind !== "object") throw new Error(`no object: ${text}`);
  return parsed.value;
}

test.each([
  ['{"a":1,"b":2}', '{"b":null}', '{"a":1}'],
  ['{"a":{"x":1,"y":2}}', '{"a":{"y":null,"z":3}}', '{"a":{"x":1,"z":3}}'],
  ['{"a":[1,2]}', '{"a":[3]}', '{"a":[3]}'],
  ["{}", '{"a":{"b":null,"c":[null,{"d":null}]}}', '{"a":{"c":[null,{}]}}'],
  ['{"a":"x"}', '{"a":{"b":null,"c":1}}', '{"a":{"c":1}}'],
  ["{}", '{"a":1e2,"b":5.0,"c":12345678901234567}', '{"a":100,"b":5,"c":12345678901234567}'],
])("%s with %s is %s", (document, patch, result) => {
  expect(nodeText(mergePatch(object(document), object(patch)))).toBe(result);
});
