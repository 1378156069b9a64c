import { parseQuantity, quantityMilliValue } from "../../src/model/quantity.ts";

/** An amount as Kubernetes writes it, as a plain number; undefined where there is none. */
export function amountOf(text: string | undefined): number | undefined {
  const quantity = parseQuantity(text ?? "");
  return quantity.ok ? Number(quantityMilliValue(quantity.value)) / 1000 : undefined;
}
