import type { Taint, Toleration } from "../../model/generated/kubernetes.ts";

/** Whether a toleration is about this taint; one without a key or effect is about any. */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  const { effect = "", key = "", operator = "", value = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (operator === "" || operator === "Equal") && value === (taint.value ?? "");
}
