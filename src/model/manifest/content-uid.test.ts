import fc from "fast-check";
import { expect, test } from "vitest";
import { textUid } from "./content-uid.ts";

test("a UID is the FNV-1a hash of 128 bits", () => {
  const plain = (text: string): string => {
    let hash = 0x6c62272e07bb014262b821756295c58dn;
    for (const byte of new TextEncoder().encode(text)) {
      hash = ((hash ^ BigInt(byte)) * 0x1000000000000000000013bn) % (1n << 128n);
    }
    return hash.toString(16).padStart(32, "0");
  };
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      expect(textUid(text)).toBe(plain(text));
    }),
  );
});
