import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { admitFields } from "../src/core/admission/field-admission.ts";
import { refusedFields } from "../src/model/fields/refused-fields.ts";
import type { PodSpec } from "../src/model/generated/kubernetes.ts";
import { wireStructs } from "../src/model/generated/wire-types.ts";
import { podUid } from "../src/model/ids.ts";
import { type WireType, wireFields } from "../src/model/manifest/wire-type.ts";
import type { Pod } from "../src/model/pod.ts";
import type { OpenApi } from "../tools/generate/kubernetes-types.ts";
import { proofsOf, supportedFields } from "../tools/generate/pod-field-proofs.ts";
import { contradictions, podFields, strayNames } from "../tools/generate/pod-fields.ts";
import { vectorDomains } from "./vectors/domains.ts";
import { loadVectorFile } from "./vectors/load-vectors.ts";

const api = JSON.parse(
  readFileSync("tools/generate/data/kubernetes-v1.36.json", "utf8"),
) as OpenApi;
const fields = podFields(api);

test("every field of the pod spec is supported, refused or ignored", () => {
  expect(fields.length).toBeGreaterThan(450);
  const unknown = fields.filter(({ support }) => support === undefined);
  expect(unknown.map(({ type, field }) => `${type}.${field}`)).toEqual([]);
});

test("the lists name only fields that exist and can be used, each in one list", () => {
  expect(strayNames(fields)).toEqual([]);
  expect(contradictions()).toEqual([]);
});

test("the decoder of manifests knows exactly these fields", () => {
  const types = new Set(fields.map(({ type }) => type));
  const ofApi = fields.map(({ type, field }) => `${type}.${field}`);
  const ofDecoder = [...types].flatMap((type) =>
    Object.keys(wireStructs[type] ?? {}).map((field) => `${type}.${field}`),
  );
  expect(ofDecoder.toSorted()).toEqual(ofApi.toSorted());
});

const proofs: readonly (readonly [string, string, string])[] = Object.entries(
  supportedFields,
).flatMap(([type, names]) =>
  Object.entries(names).flatMap(([field, proof]) =>
    proofsOf(proof).map((one) => [type, field, one] as const),
  ),
);

const inputs = new Map<string, string>();

function inputsOf(domain: string): string {
  const known = inputs.get(domain);
  if (known !== undefined) return known;
  const { vectors } = loadVectorFile(`test/vectors/dev/${domain}.json.gz`);
  const text = JSON.stringify(vectors.map(({ input }) => input));
  inputs.set(domain, text);
  return text;
}

test("the proof of every supported field exists and is about that field", () => {
  const domains = new Set(vectorDomains.map(({ name }) => name));
  const missing = proofs.filter(([, field, proof]) => {
    if (proof.endsWith(".test.ts")) {
      return !existsSync(proof) || !new RegExp(`\\b${field}\\b`).test(readFileSync(proof, "utf8"));
    }
    return !domains.has(proof) || !inputsOf(proof).includes(`"${field}":`);
  });
  expect(missing).toEqual([]);
});

test("some code beyond parsing and validation reads every supported field", () => {
  const code = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((path) => /(?<!\.test)\.ts$/.test(path))
    .filter((path) => !/generated|^cli\/|^model\/(validate|manifest|fields)\//.test(path))
    .map((path) => readFileSync(`src/${path}`, "utf8"))
    .join("\n");
  const words = new Set(code.match(/\w+/g));
  const unread = proofs.filter(([, field]) => !words.has(field));
  expect(unread).toEqual([]);
});

/** A spec that uses one field, and where in it the field stands. */
interface Use {
  readonly spec: PodSpec;
  readonly path: string;
}

function useOf(name: string): Use {
  const steps = stepsTo(name);
  const path = steps.reduce(
    (text, { field, isList }) => `${text}.${field}${isList ? "[0]" : ""}`,
    "spec",
  );
  const [last] = steps.slice(-1);
  const value = steps.toReversed().reduce<unknown>((inner, { field, type, isList }) => {
    const filled = inner ?? sampleOf(type);
    return { [field]: inner !== undefined && isList ? [filled] : filled };
  }, undefined);
  const spec = { containers: [{ name: "c" }], ...(value as Partial<PodSpec>) };
  return { spec, path: last?.isList === true ? path.replace(/\[0\]$/, "") : path };
}

interface PathStep {
  readonly struct: string;
  readonly field: string;
  readonly type: WireType;
  readonly isList: boolean;
}

/** The shortest way to a field that goes through no refused one. */
function stepsTo(name: string): readonly PathStep[] {
  const queue: (readonly PathStep[])[] = [[]];
  const seen = new Set<string>();
  for (const steps of queue) {
    const struct = structOf(steps.at(-1)?.type) ?? "PodSpec";
    if (seen.has(struct)) continue;
    seen.add(struct);
    for (const [field, { type }] of wireFields(struct)) {
      const path = [...steps, { struct, field, type, isList: type.kind === "array" }];
      if (`${struct}.${field}` === name) return path;
      if (!refusedFields.has(`${struct}.${field}`) && structOf(type) !== undefined) {
        queue.push(path);
      }
    }
  }
  throw new Error(`no pod can use ${name}`);
}

function structOf(type: WireType | undefined): string | undefined {
  if (type?.kind === "array") return structOf(type.item);
  return type?.kind === "struct" ? type.struct : undefined;
}

function sampleOf(type: WireType): unknown {
  switch (type.kind) {
    case "array":
      return [sampleOf(type.item)];
    case "map":
      return { key: sampleOf(type.item) };
    case "struct": {
      const first = [...wireFields(type.struct)].find(
        ([field]) => !refusedFields.has(`${type.struct}.${field}`),
      );
      return first === undefined ? {} : { [first[0]]: sampleOf(first[1].type) };
    }
    case "bool":
      return true;
    case "int32":
    case "int64":
    case "intOrString":
      return 1;
    default:
      return "text";
  }
}

function podOf(spec: PodSpec): Pod {
  return { metadata: { name: "p", namespace: "n", uid: podUid("u") }, spec };
}

test.each([...refusedFields])("a pod that uses %s is refused by its field", (name, reason) => {
  const { spec, path } = useOf(name);
  const result = admitFields(podOf(spec), "strict");
  expect(result).toMatchObject({ admit: false, reason: "UnsupportedField" });
  expect(result.admit ? "" : result.message).toContain(`${path}: ${reason}`);
});

test("no supported or ignored field is refused", () => {
  const refused = fields
    .filter(
      ({ support, partOf }) => !(support?.kind ?? "").startsWith("refused") && partOf === undefined,
    )
    .map(({ type, field }) => `${type}.${field}`)
    .filter((name) => {
      const { spec } = useOf(name);
      return !admitFields(podOf(spec), "strict").admit;
    });
  expect(refused).toEqual([]);
});
