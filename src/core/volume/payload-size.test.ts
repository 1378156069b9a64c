import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { err, ok } from "../../lib/result.ts";
import type { Pod } from "../../model/pod.ts";
import { downwardPayload } from "./downward-payload.ts";
import { configMapPayload } from "./key-payload.ts";
import { maxPayloadBytes, payloadTooLarge } from "./payload-size.ts";
import { projectedPayload } from "./projected-payload.ts";

const mebibyte = "x".repeat(1024 * 1024);
const pod: Pod = buildPod({
  metadata: { name: "p", namespace: "ns", uid: "u", annotations: { a: mebibyte } },
  spec: { containers: [] },
});
const timesTooMany = maxPayloadBytes / mebibyte.length + 1;

test("a field that is named too often is refused", () => {
  const items = Array.from({ length: timesTooMany }, (_, index) => ({
    path: `${index}`,
    fieldRef: { fieldPath: "metadata.annotations" },
  }));
  expect(downwardPayload({ items, defaultMode: 0o644 }, pod, {})).toEqual(err([payloadTooLarge]));
  expect(downwardPayload({ items: items.slice(2), defaultMode: 0o644 }, pod, {}).ok).toBe(true);
});

test("a key that is named too often is refused", () => {
  const items = Array.from({ length: timesTooMany }, (_, index) => ({
    key: "a",
    path: `${index}`,
  }));
  const object = { data: { a: mebibyte } };
  expect(configMapPayload(object, { items, defaultMode: 0o644 })).toEqual(err(payloadTooLarge));
  expect(configMapPayload(object, { items: items.slice(1), defaultMode: 0o644 }).ok).toBe(true);
});

test("an object that is projected too often is refused", () => {
  const inputs = {
    pod,
    configMap: () => ok({ data: { a: mebibyte } }),
    secret: () => ok({}),
    allocatable: {},
    tokens: [],
    trustAnchors: [],
    certificates: [],
    fsGroup: undefined,
    fsUser: undefined,
  };
  const sources = Array.from({ length: timesTooMany }, () => ({ configMap: { name: "a" } }));
  expect(projectedPayload({ defaultMode: 0o644, sources }, inputs)).toEqual(err(payloadTooLarge));
});
