import fc from "fast-check";
import { expect, test } from "vitest";
import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  isZeroQuantity,
  milliQuantity,
  mustParseQuantity,
  parseQuantity,
  quantityMilliValue,
  quantityValue,
  subtractQuantity,
  wholeQuantity,
  zeroQuantity,
} from "./quantity.ts";

const suffixes = ["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "E-2"];
const quantities = fc
  .tuple(
    fc.integer({ min: -1_000_000, max: 1_000_000 }),
    fc.option(fc.nat(999)),
    fc.constantFrom(...suffixes),
  )
  .map(([whole, fraction, suffix]) =>
    mustParseQuantity(`${whole}${fraction === null ? "" : `.${fraction}`}${suffix}`),
  );

test("what is written reads back as the same amount", () => {
  fc.assert(
    fc.property(quantities, (quantity) => {
      const again = mustParseQuantity(formatQuantity(quantity));
      expect(compareQuantity(again, quantity)).toBe(0);
      expect(formatQuantity(again)).toBe(formatQuantity(quantity));
    }),
  );
});

test("subtracting what was added gives the first amount back", () => {
  fc.assert(
    fc.property(quantities, quantities, (a, b) => {
      expect(compareQuantity(subtractQuantity(addQuantity(a, b), b), a)).toBe(0);
      expect(compareQuantity(addQuantity(a, b), addQuantity(b, a))).toBe(0);
    }),
  );
});

test("a value is never below the amount, and less than one above it", () => {
  const positive = quantities.filter(({ unscaled }) => unscaled > 0n);
  fc.assert(
    fc.property(positive, (quantity) => {
      const value = quantityValue(quantity);
      expect(compareQuantity(wholeQuantity(value, ""), quantity)).toBeGreaterThanOrEqual(0);
      expect(compareQuantity(wholeQuantity(value - 1n, ""), quantity)).toBe(-1);
    }),
  );
});

test("any text is either read or refused in a known way", () => {
  const unit = fc.constantFrom(...Array.from("0123456789.+-eEinumkKMGTP "));
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const parsed = parseQuantity(text);
      const outcome = parsed.ok ? formatQuantity(parsed.value) : parsed.error;
      expect(outcome).toMatch(/^([-+.\d]|quantities must match|unable to parse)/);
    }),
  );
});

test("a sum takes the format of its first amount that is not zero", () => {
  const sum = addQuantity(addQuantity(zeroQuantity, mustParseQuantity("1Gi")), zeroQuantity);
  expect(formatQuantity(sum)).toBe("1Gi");
  expect(formatQuantity(addQuantity(mustParseQuantity("0"), mustParseQuantity("1e3")))).toBe("1e3");
});

test("an exponent beyond all measure costs no time", () => {
  const huge = mustParseQuantity("1e2147483647");
  const tiny = mustParseQuantity("1e-2147483647");
  expect(quantityValue(huge)).toBe(0n);
  expect(compareQuantity(huge, tiny)).toBe(1);
  expect(formatQuantity(tiny)).toBe("1e-9");
});

test("made amounts are written in their format", () => {
  expect(formatQuantity(wholeQuantity(2n ** 20n, "BinarySI"))).toBe("1Mi");
  expect(formatQuantity(wholeQuantity(-2048n, "BinarySI"))).toBe("-2Ki");
  expect(formatQuantity(milliQuantity(1500n, "DecimalSI"))).toBe("1500m");
  expect(quantityMilliValue(milliQuantity(1500n, "DecimalSI"))).toBe(1500n);
  expect(isZeroQuantity(milliQuantity(0n, "DecimalSI"))).toBe(true);
});

test("text that is not a quantity throws where it must be one", () => {
  expect(() => mustParseQuantity("many")).toThrow("cannot parse 'many'");
});
