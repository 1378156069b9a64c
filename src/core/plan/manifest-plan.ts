import type { RehearsedPod } from "../../model/holding.ts";
import type { Pod } from "../../model/pod.ts";
import type { Step } from "../pod/step.ts";
import type { FieldChange } from "./field-changes.ts";

/** What would be done with manifests on a node. */
export interface ManifestPlan {
  readonly files: readonly FilePlan[];
  /** What a folder holds beside manifests. */
  readonly ignored: readonly string[];
}

export interface FilePlan {
  readonly path: string;
  readonly documents: readonly DocumentPlan[];
}

export type DocumentPlan =
  | { readonly kind: "refused"; readonly problems: readonly PlanProblem[] }
  /** Right by itself, but there is one of its name before it; what else is in its file runs. */
  | { readonly kind: "doubled"; readonly problems: readonly PlanProblem[] }
  | {
      readonly kind: "pod";
      readonly line: number;
      readonly pod: Pod;
      readonly qosClass: string;
      /** What the pod has that its document does not say, or says otherwise. */
      readonly changes: readonly FieldChange[];
      /** What the document says that has no effect: on any node, or on this one yet. */
      readonly ignored: readonly IgnoredUse[];
      /** Why this node would not run it even though it is valid. */
      readonly rejection?: RehearsedPod["refusal"];
      /** Those that start it where each succeeds. */
      readonly steps: readonly Step[];
      /** What its containers get for themselves; absent where they ask for nothing of the kind. */
      readonly allotment?: Allotment | undefined;
    }
  | {
      readonly kind: "runtime-class";
      readonly line: number;
      readonly name: string;
      readonly handler: string;
    }
  | {
      readonly kind: "storage";
      readonly line: number;
      readonly type: "PersistentVolumeClaim" | "PersistentVolume" | "CSIDriver";
      /** With its namespace, if it has one. */
      readonly name: string;
    }
  | {
      readonly kind: "object";
      readonly line: number;
      readonly type: "ConfigMap" | "Secret";
      readonly namespace: string;
      readonly name: string;
      readonly keys: readonly string[];
    };

export type Allotment =
  | ({ readonly kind: "known" } & Pick<RehearsedPod, "holdings" | "makesRoom">)
  | { readonly kind: "unknown"; readonly because: string };

export interface IgnoredUse {
  readonly field: string;
  readonly reason: string;
}

/** What is wrong with a manifest, placed as exactly as it is known. */
export interface PlanProblem {
  /** The file. */
  readonly origin: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** The path of the offending field, such as spec.containers[0].image. */
  readonly field?: string | undefined;
  readonly message: string;
}
