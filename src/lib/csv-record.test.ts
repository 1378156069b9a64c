import fc from "fast-check";
import { expect, test } from "vitest";
import { formatCsvRecord, parseCsvRecord } from "./csv-record.ts";

test.each([
  ["a,b", ["a", "b"]],
  ['"a,b","c""d"', ["a,b", 'c"d']],
  [",", ["", ""]],
  ["a\nb", ["a"]],
  ['"a\nb",c', ["a\nb", "c"]],
])("%j has the fields %j", (text, fields) => {
  expect(parseCsvRecord(text)).toEqual({ ok: true, value: fields });
});

test.each([
  ['a,"b', 'parse error on line 1, column 5: extraneous or missing " in quoted-field'],
  ['a"b', 'parse error on line 1, column 2: bare " in non-quoted-field'],
  ['"a"b', 'parse error on line 1, column 3: extraneous or missing " in quoted-field'],
  ["\n", "EOF"],
])("%j is refused", (text, message) => {
  expect(parseCsvRecord(text)).toEqual({ ok: false, error: message });
});

test("what is written is read as the same", () => {
  const field = fc.string({ unit: fc.constantFrom("a", '"', ",", " ", "\n", "é") });
  fc.assert(
    fc.property(fc.array(field, { minLength: 2, maxLength: 4 }), (fields) => {
      const text = formatCsvRecord(fields);
      fc.pre(!text.startsWith("\n"));
      expect(parseCsvRecord(text)).toEqual({ ok: true, value: fields });
    }),
  );
});
