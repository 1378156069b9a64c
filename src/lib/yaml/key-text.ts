import { resolveScalar } from "./resolve-scalar.ts";
import type { YamlScalar } from "./yaml-node.ts";
import { YamlProblem } from "./yaml-problem.ts";

/** A key as the name that it is in JSON. Throws a YamlProblem where it cannot be one. */
export function keyText(key: YamlScalar): string {
  const resolved = resolveScalar(key);
  switch (resolved.kind) {
    case "null":
      throw new YamlProblem("invalid map key: a key must be a text, not null", key.at);
    case "float":
      return floatName(resolved.value);
    case "integer":
      if (resolved.value <= maxInt64) return String(resolved.value);
      throw new YamlProblem("invalid map key: the number is too large", key.at);
    default:
      return String(resolved.value);
  }
}

const maxInt64 = 2n ** 63n - 1n;
const singlePrecisionDigits = 9;

/** With single precision, as short as it can be, with an exponent where six digits do not show it. */
function floatName(value: number): string {
  const single = Math.fround(value);
  if (Number.isNaN(single)) return ".nan";
  if (!Number.isFinite(single)) return single < 0 ? "-.inf" : ".inf";
  if (single === 0) return Object.is(single, -0) ? "-0" : "0";
  const shortest = shortestForm(single);
  const [digits = "", exponent = ""] = shortest.split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(Number(shortest));
  const sign = power < 0 ? "-" : "+";
  return `${digits}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}

function shortestForm(single: number): string {
  for (let digits = 0; digits < singlePrecisionDigits; digits++) {
    const form = single.toExponential(digits);
    if (Math.fround(Number(form)) === single) return form;
  }
  return single.toExponential(singlePrecisionDigits);
}
