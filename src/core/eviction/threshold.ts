import { toInt64 } from "../../lib/go-float.ts";
import {
  compareQuantity,
  type Quantity,
  quantityValue,
  wholeQuantity,
} from "../../model/quantity.ts";
import type { Signal } from "./signal.ts";

/** An amount, or a part of the capacity in single precision: 0.1 is ten percent. */
export type ThresholdValue =
  | { readonly kind: "quantity"; readonly quantity: Quantity }
  | { readonly kind: "percentage"; readonly percentage: number };

/** Below what the node is short of something. */
export interface Threshold {
  readonly signal: Signal;
  /** Empty when it was derived from a threshold that is not set: such a one is never met. */
  readonly operator: "LessThan" | "";
  readonly value: ThresholdValue;
  /** How long it must be met before pods are evicted; none for a hard threshold. */
  readonly gracePeriodMs: number;
  /** How far beyond the threshold is cleared once it was met. */
  readonly minReclaim?: ThresholdValue | undefined;
}

/** How the node's filesystems are laid out. */
export interface FsLayout {
  /** Images are on another filesystem than the node's own. */
  readonly dedicatedImageFs: boolean;
  /** Containers' writable layers are on another filesystem than images. */
  readonly splitContainerFs: boolean;
}

/** Whether pods are evicted at once. */
export function isHardThreshold({ gracePeriodMs }: Threshold): boolean {
  return gracePeriodMs === 0;
}

/** The amount that a value means for a capacity. */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if (value.kind === "quantity") return value.quantity;
  const part = Number(quantityValue(capacity)) * value.percentage;
  return wholeQuantity(toInt64(part), "BinarySI");
}

/** Whether both say the same, whatever they want reclaimed. */
export function isEqualThreshold(a: Threshold, b: Threshold): boolean {
  return (
    a.gracePeriodMs === b.gracePeriodMs &&
    a.operator === b.operator &&
    a.signal === b.signal &&
    isEqualValue(a.value, b.value)
  );
}

/** Whether both are one setting; two settings that happen to name equal amounts are not. */
export function isSameThreshold(a: Threshold, b: Threshold): boolean {
  return (
    a.gracePeriodMs === b.gracePeriodMs &&
    a.operator === b.operator &&
    a.signal === b.signal &&
    isSameValue(a.value, b.value) &&
    a.minReclaim === b.minReclaim
  );
}

function isEqualValue(a: ThresholdValue, b: ThresholdValue): boolean {
  if (a.kind === "quantity") {
    return b.kind === "quantity" && compareQuantity(a.quantity, b.quantity) === 0;
  }
  return b.kind === "percentage" && a.percentage === b.percentage;
}

function isSameValue(a: ThresholdValue, b: ThresholdValue): boolean {
  if (a.kind === "quantity") return b.kind === "quantity" && a.quantity === b.quantity;
  return b.kind === "percentage" && a.percentage === b.percentage;
}
