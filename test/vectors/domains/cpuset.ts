import {
  areCpusWithin,
  areSameCpus,
  cpuSet,
  cpuSetText,
  intersectCpus,
  parseCpuSet,
  unionCpus,
  withoutCpus,
} from "../../../src/model/cpu-set.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Input =
  | { readonly kind: "parse"; readonly text: string }
  | { readonly kind: "ops"; readonly a: readonly number[]; readonly b: readonly number[] };

export const cpusetDomain: VectorDomain = vectorDomain<Input>("cpuset", (input) => {
  if (input.kind === "parse") {
    const parsed = parseCpuSet(input.text);
    if (!parsed.ok) return { error: parsed.error };
    const cpus = parsed.value;
    return {
      cpus,
      string: cpuSetText(cpus),
      size: cpus.length,
      isEmpty: cpus.length === 0,
    };
  }
  const a = cpuSet(input.a);
  const b = cpuSet(input.b);
  return {
    aList: a,
    aSize: a.length,
    aString: cpuSetText(a),
    bString: cpuSetText(b),
    aContains5: a.includes(5),
    aSubsetOfB: areCpusWithin(a, b),
    bSubsetOfA: areCpusWithin(b, a),
    equals: areSameCpus(a, b),
    union: cpuSetText(unionCpus(a, b)),
    intersection: cpuSetText(intersectCpus(a, b)),
    difference: cpuSetText(withoutCpus(a, b)),
  };
});
