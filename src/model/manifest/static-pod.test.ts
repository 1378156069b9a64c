import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson } from "../../lib/json-parser.ts";
import { parseStaticPod, type StaticPodPlace } from "./static-pod.ts";

const place: StaticPodPlace = {
  nodeName: "Node-1",
  origin: { kind: "file", path: "/m/a.yaml" },
  allowedReferences: "none",
};

function parse(object: unknown, at: StaticPodPlace = place) {
  const parsed = parseJson(JSON.stringify(object));
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parseStaticPod(parsed.value, at);
}

const pod = (image: string) => ({
  metadata: { name: "web" },
  spec: { containers: [{ name: "c", image }] },
});

function uidOf(image: string, at: StaticPodPlace): string {
  const parsed = parse(pod(image), { ...at, nodeName: at.nodeName.toLowerCase() });
  return parsed.ok ? parsed.value.metadata.uid : "";
}

test("the UID depends on content, node and place, and on nothing else", () => {
  const uid = uidOf("x", place);
  expect(uid).toMatch(/^[0-9a-f]{32}$/);
  expect(uidOf("x", place)).toBe(uid);
  const others = [
    uidOf("y", place),
    uidOf("x", { ...place, nodeName: "node-2" }),
    uidOf("x", { ...place, origin: { kind: "file", path: "/m/b.yaml" } }),
    uidOf("x", { ...place, origin: { kind: "url", url: "/m/a.yaml" } }),
  ];
  expect(new Set([uid, ...others]).size).toBe(5);
});

test("the order of fields in a file does not change the UID", () => {
  const { metadata, spec } = pod("x");
  const at = { ...place, nodeName: "n1" };
  const one = parse({ metadata, spec }, at);
  const other = parse({ spec, metadata }, at);
  expect(one.ok && one.value.metadata.uid).toBe(other.ok && other.value.metadata.uid);
});

test("a pod from a file tolerates what would evict it; one from a URL does not", () => {
  const at = { ...place, nodeName: "n1" };
  const file = parse(pod("x"), at);
  const url = parse(pod("x"), { ...at, origin: { kind: "url", url: "http://x" } });
  expect(file.ok && file.value.spec.tolerations).toEqual([
    { operator: "Exists", effect: "NoExecute" },
  ]);
  expect(url.ok && url.value.spec.tolerations).toBeUndefined();
});

test("whatever JSON a spec holds, it is accepted or refused, and never throws", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (spec, container) => {
      expect(parse({ metadata: { name: "a" }, spec })).toBeDefined();
      expect(parse({ metadata: { name: "a" }, spec: { containers: [container] } })).toBeDefined();
    }),
  );
});
