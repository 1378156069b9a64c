import { parseQuantity, type Quantity, zeroQuantity } from "../quantity.ts";

const wordBits = 64n;
const wordMask = 2n ** wordBits - 1n;

/** A quantity in a kubelet's dump. */
export function dumpQuantity(quantity: Quantity): string {
  const { size, unscaled, exponent, format, text = "" } = quantity;
  const [value, scale] = size === "small" ? [unscaled, exponent] : [0n, 0];
  const big = size === "small" ? "<nil>" : dumpBig(unscaled, -exponent);
  return [
    `{i:(resource.int64Amount){value:(int64)${value} scale:(resource.Scale)${scale}}`,
    `d:(resource.infDecAmount){Dec:(*inf.Dec)${big}}`,
    `s:(string)${text}`,
    `Format:(resource.Format)${format}}`,
  ].join(" ");
}

/** What the text in a manifest is held as; one that is not a quantity is refused elsewhere. */
export function heldQuantity(text: string): Quantity {
  const parsed = parseQuantity(text);
  return parsed.ok ? parsed.value : zeroQuantity;
}

function dumpBig(unscaled: bigint, scale: number): string {
  const words: bigint[] = [];
  for (let rest = unscaled < 0n ? -unscaled : unscaled; rest > 0n; rest >>= wordBits) {
    words.push(rest & wordMask);
  }
  const digits = words.length === 0 ? "<nil>" : `[${words.join(" ")}]`;
  const number = `{neg:(bool)${unscaled < 0n} abs:(big.nat)${digits}}`;
  return `{unscaled:(big.Int)${number} scale:(inf.Scale)${scale}}`;
}
