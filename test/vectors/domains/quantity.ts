import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  mustParseQuantity,
  parseQuantity,
  quantityMilliValue,
  quantityValue,
  subtractQuantity,
} from "../../../src/model/quantity.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface QuantityInput {
  readonly text?: string;
  readonly a: string;
  readonly b: string;
}

export const quantity: VectorDomain = vectorDomain<QuantityInput>("quantity", ({ text, a, b }) =>
  text === undefined ? arithmetic(a, b) : reading(text),
);

function reading(text: string): unknown {
  const parsed = parseQuantity(text);
  if (!parsed.ok) return { error: parsed.error };
  const { value } = parsed;
  const sign = compareQuantity(value, mustParseQuantity("0"));
  return {
    canonical: formatQuantity(value),
    format: value.format,
    isZero: sign === 0,
    json: JSON.stringify(formatQuantity(value)),
    milliValue: String(quantityMilliValue(value)),
    sign,
    value: String(quantityValue(value)),
  };
}

function arithmetic(aText: string, bText: string): unknown {
  const a = mustParseQuantity(aText);
  const b = mustParseQuantity(bText);
  const cmp = compareQuantity(a, b);
  return {
    add: formatQuantity(addQuantity(a, b)),
    cmp,
    equal: cmp === 0,
    sub: formatQuantity(subtractQuantity(a, b)),
  };
}
