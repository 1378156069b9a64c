import { type JsonNode, type Position, positionOf } from "../../lib/json-node.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type DecodedPod, defaultPod } from "../defaults/default-pod.ts";
import type { Toleration } from "../generated/kubernetes.ts";
import { podUid } from "../ids.ts";
import type { Pod } from "../pod.ts";
import { configHashAnnotation } from "../pod-source.ts";
import { type FieldError, formatFieldError } from "../validate/field-error.ts";
import { validatePod } from "../validate/validate-pod.ts";
import { type AllowedReferences, refusedReference } from "./api-references.ts";
import { contentUid, textUid } from "./content-uid.ts";
import { type Decoded, decodeObject, zeroStruct } from "./decode-object.ts";
import { fixedContent } from "./fixed-content.ts";
import { dumpPod } from "./pod-dump.ts";

/** Where a static pod comes from; its name and UID depend on it. */
export interface StaticPodPlace {
  readonly nodeName: string;
  readonly origin:
    | { readonly kind: "file"; readonly path: string }
    | { readonly kind: "url"; readonly url: string };
  readonly allowedReferences: AllowedReferences;
  /** A pod that asks for more or less CPU or memory than before is still the same pod. */
  readonly isResizable?: boolean | undefined;
}

/** Why a manifest is refused. */
export interface ManifestProblem {
  readonly message: string;
  /** Whether the document was a pod at all, so that reading it as something else makes no sense. */
  readonly isPod: boolean;
  readonly field?: string | undefined;
  readonly at?: Position | undefined;
  readonly validationErrors?: readonly FieldError[] | undefined;
}

// Static pods stay where they are when a node has problems.
const stayToleration: Toleration = { operator: "Exists", effect: "NoExecute" };

/** A document of kind Pod as a pod that can run: decoded, with defaults, named after its node, checked. */
export function parseStaticPod(
  root: JsonNode,
  place: StaticPodPlace,
): Result<Pod, ManifestProblem> {
  const decoded = decodeObject("Pod", root);
  if (decoded.problem !== undefined) return err({ ...decoded.problem, isPod: false });
  const pod = defaultPod(withSpec(decoded));
  if (pod.metadata?.name === undefined) {
    const message = "invalid pod: name is needed for the pod";
    return err({ message, isPod: true, field: "metadata.name", at: positionOf(root, "metadata") });
  }
  const uid = pod.metadata.uid ?? generatedUid(pod, root, place);
  const placed = placePod(pod, { name: pod.metadata.name, uid }, place);
  const validationErrors = validatePod(placed);
  const [first] = validationErrors;
  if (first !== undefined) {
    return err({
      message: `invalid pod: [${validationErrors.map(formatFieldError).join(" ")}]`,
      isPod: true,
      field: first.field,
      at: positionOf(root, first.field),
      validationErrors,
    });
  }
  const refused = refusedReference(placed.spec, place.allowedReferences);
  if (refused !== undefined) {
    return err({ ...refused, isPod: true, at: positionOf(root, refused.field) });
  }
  return ok(placed);
}

/** The decoder guarantees the shape; only a spec that is not there at all is added. */
function withSpec({ value }: Decoded): DecodedPod {
  const { apiVersion: _, kind: __, ...pod } = value as Partial<DecodedPod>;
  return { ...pod, spec: pod.spec ?? (zeroStruct("PodSpec") as unknown as DecodedPod["spec"]) };
}

/** The UID that a kubelet gives the pod, so that either can take its containers over from the other. */
function generatedUid(
  pod: DecodedPod,
  root: JsonNode,
  { nodeName, origin, isResizable = false }: StaticPodPlace,
): string {
  const where =
    origin.kind === "file" ? `host:${nodeName}file:${origin.path}` : `url:${origin.url}`;
  return isResizable ? contentUid(fixedContent(pod), where) : textUid(dumpPod(pod, root) + where);
}

function placePod(
  pod: DecodedPod,
  { name, uid }: { readonly name: string; readonly uid: string },
  { nodeName, origin }: StaticPodPlace,
): Pod {
  const tolerations = pod.spec.tolerations ?? [];
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      name: `${name}-${nodeName.toLowerCase()}`,
      namespace: pod.metadata?.namespace ?? "default",
      uid: podUid(uid),
      annotations: { ...pod.metadata?.annotations, [configHashAnnotation]: uid },
    },
    spec: {
      ...pod.spec,
      nodeName,
      ...(origin.kind === "file" ? { tolerations: withStayToleration(tolerations) } : {}),
    },
    status: { ...pod.status, phase: "Pending" },
  };
}

function withStayToleration(tolerations: readonly Toleration[]): readonly Toleration[] {
  if (!tolerations.some(isStayToleration)) return [...tolerations, stayToleration];
  return tolerations.map((one) => (isStayToleration(one) ? stayToleration : one));
}

function isStayToleration({ key, operator, effect, value }: Toleration): boolean {
  return (
    key === undefined && operator === "Exists" && effect === "NoExecute" && value === undefined
  );
}
