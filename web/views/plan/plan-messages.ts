// What the view and the worker that plans say to each other: plain data.
import type { Node, Pod } from "../../../src/library/plan.ts";

export interface PlanRequest {
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly text: string;
}

export interface PlanProblemLine {
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly field?: string | undefined;
  readonly message: string;
}

/** One document of what was pasted. */
export interface PlannedDocument {
  readonly title: string;
  readonly line?: number | undefined;
  readonly verdict: "accepted" | "refused" | "rejected";
  /** Why it does not run. */
  readonly problems: readonly PlanProblemLine[];
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** What the pod has that the document does not say. */
  readonly changes: readonly {
    readonly field: string;
    readonly to: string;
    readonly from: string;
  }[];
  /** What has no effect, and why. */
  readonly ignored: readonly { readonly field: string; readonly reason: string }[];
  readonly steps: readonly { readonly what: string; readonly because: string }[];
}

export type PlanAnswer =
  | { readonly kind: "planned"; readonly documents: readonly PlannedDocument[] }
  | { readonly kind: "failed"; readonly message: string };
