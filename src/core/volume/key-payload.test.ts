import { expect, test } from "vitest";
import { configMapPayload, secretPayload } from "./key-payload.ts";

test("data that is not base64 is refused by its key", () => {
  expect(secretPayload({ data: { token: "not base64!" } }, { defaultMode: 0o644 })).toEqual({
    ok: false,
    error: "data[token] is not base64",
  });
  expect(configMapPayload({ binaryData: { blob: "%" } }, { defaultMode: 0o644 })).toEqual({
    ok: false,
    error: "binaryData[blob] is not base64",
  });
});

test("a key is looked for among the object's own keys only", () => {
  const items = [{ key: "constructor", path: "a" }];
  expect(configMapPayload({ data: {} }, { defaultMode: 0o644, items })).toEqual({
    ok: false,
    error: "configmap references non-existent config key: constructor",
  });
});
