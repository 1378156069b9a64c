import { expect, test } from "vitest";
import type { ClusterTrustBundle } from "../../model/cluster-trust-bundle.ts";
import { trustAnchors } from "./trust-anchors.ts";

const one = pem("one ".repeat(30));
const two = pem("two");
const three = pem("three");

function pem(content: string): string {
  const text = Buffer.from(content).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${text.replaceAll(/.{64}(?=.)/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
}

function bundles(...all: (readonly [string, ClusterTrustBundle])[]) {
  return new Map(
    all.map(([name, bundle]) => [name, { ...bundle, metadata: { name, ...bundle.metadata } }]),
  );
}

const signerName = "example.com/mesh";
const ofMesh = (trustBundle: string, labels?: Record<string, string>): ClusterTrustBundle => ({
  metadata: { labels },
  spec: { signerName, trustBundle },
});

const known = bundles(
  ["plain", { spec: { trustBundle: one } }],
  ["example.com:mesh:live", ofMesh(`about this: ${two}${one}`, { use: "live", tier: "a" })],
  ["example.com:mesh:test", ofMesh(two + three, { use: "test" })],
  ["example.com:other:live", { spec: { signerName: "example.com/other", trustBundle: one } }],
);

/** The certificates in a text, in no order. */
function certificates(text: string): readonly string[] {
  return (text.match(/-----BEGIN [^]*?-----END CERTIFICATE-----\n/g) ?? []).toSorted();
}

function select(projection: Omit<Parameters<typeof trustAnchors>[1], "path">, order = "0.5") {
  const found = trustAnchors(known, { path: "ca.pem", ...projection }, order);
  return found.ok ? certificates(found.value) : found.error;
}

test("a bundle is found by its name, of a signer or of none, and its comments are left out", () => {
  expect(select({ name: "plain" })).toEqual([one]);
  expect(select({ name: "example.com:mesh:live" })).toEqual([one, two].toSorted());
});

test("an empty selector takes all bundles of the signer, and each certificate once", () => {
  expect(select({ signerName, labelSelector: {} })).toEqual([one, two, three].toSorted());
});

test("labels select among the bundles of the signer", () => {
  const live = { matchLabels: { use: "live" } };
  expect(select({ signerName, labelSelector: live })).toEqual([one, two].toSorted());
  const notLive = { matchExpressions: [{ key: "use", operator: "NotIn", values: ["live"] }] };
  expect(select({ signerName, labelSelector: notLive })).toEqual([two, three].toSorted());
});

test("a signer without a selector has no bundles", () => {
  const message = "combination of signerName and labelSelector matched zero ClusterTrustBundles";
  expect(select({ signerName })).toBe(message);
  expect(select({ signerName, labelSelector: { matchLabels: { use: "none" } } })).toBe(message);
});

test("what is optional and missing is empty", () => {
  expect(select({ name: "gone", optional: true })).toEqual([]);
  expect(select({ signerName, optional: true })).toEqual([]);
});

test("a bundle that is missing is named, and so is a source that names none", () => {
  expect(select({ name: "gone" })).toBe(
    'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "gone" not found',
  );
  expect(select({ optional: true })).toBe(
    "ClusterTrustBundle projection requires either name or signerName to be set",
  );
});

test("certificates have the lines of PEM, one after the other", () => {
  expect(trustAnchors(known, { path: "ca.pem", name: "plain" }, "0")).toEqual({
    ok: true,
    value: one,
  });
});

test("the order is the same each time, and another after another start of the agent", () => {
  const orders = Array.from({ length: 20 }, (_, start) => {
    const projection = { path: "ca.pem", signerName, labelSelector: {} };
    const texts = [1, 2].map(() => trustAnchors(known, projection, `0.${start}`));
    expect(texts[0]).toEqual(texts[1]);
    return texts[0]?.ok === true ? texts[0].value : "";
  });
  expect(new Set(orders).size).toBeGreaterThan(1);
});
