import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimCondition,
  PersistentVolumeClaimStatus,
} from "../../model/generated/kubernetes.ts";
import {
  compareQuantity,
  formatQuantity,
  parseQuantity,
  type Quantity,
  zeroQuantity,
} from "../../model/quantity.ts";

/** Conditions that say how far an expansion is. */
const resizeConditions: ReadonlySet<string> = new Set([
  "FileSystemResizePending",
  "Resizing",
  "ControllerResizeError",
  "NodeResizeError",
]);
const notRequiredAnnotation = "volume.kubernetes.io/node-expansion-not-required";

type ClaimStatus = PersistentVolumeClaimStatus;
type ResizeStatus =
  | "NodeResizePending"
  | "NodeResizeInProgress"
  | "NodeResizeInfeasible"
  | (string & {});

/** Zero when absent or not a quantity. */
export function storageOf(resources: Readonly<Record<string, string>> | undefined): Quantity {
  const parsed = parseQuantity(resources?.["storage"] ?? "0");
  return parsed.ok ? parsed.value : zeroQuantity;
}

function resizeStatusOf({ status }: PersistentVolumeClaim): ResizeStatus {
  return status?.allocatedResourceStatuses?.["storage"] ?? "";
}

/** Whether the controller that expands the claim keeps track of failed expansions, so that the node must too. */
export function tracksExpansion({ status }: PersistentVolumeClaim): boolean {
  return (
    status?.allocatedResources !== undefined ||
    status?.allocatedResourceStatuses?.["storage"] !== undefined
  );
}

export interface ExpansionDecision {
  /** Undefined = the driver is not asked: the size to note, and whether the expansion counts as done. */
  readonly skip?: { readonly isDone: boolean; readonly size: Quantity } | undefined;
  /** The claim has the size already; only the node lacks it. */
  readonly isClaimUpdated: boolean;
  /** A failure means that the size can never be reached. */
  readonly isInfeasibleOnFailure: boolean;
}

/** Whether the node may expand a volume now whose claim is tracked. */
export function decideExpansion(
  claim: PersistentVolumeClaim,
  sizes: { readonly oldSize: Quantity; readonly newSize: Quantity },
  hasFailedBefore: boolean,
): ExpansionDecision {
  const { oldSize, newSize } = sizes;
  const resizeStatus = resizeStatusOf(claim);
  const requested = storageOf(claim.spec?.resources?.requests);
  const isInfeasibleOnFailure = compareQuantity(requested, newSize) !== 0 && hasFailedBefore;
  const isClaimUpdated =
    compareQuantity(storageOf(claim.status?.capacity), newSize) >= 0 && resizeStatus === "";
  const isShared =
    claim.spec?.accessModes?.includes("ReadWriteMany") === true &&
    claim.metadata?.annotations?.[notRequiredAnnotation] === undefined;
  const isAllowed =
    (isClaimUpdated && isShared) ||
    resizeStatus === "NodeResizePending" ||
    resizeStatus === "NodeResizeInProgress";
  const skip = isAllowed
    ? undefined
    : { isDone: isClaimUpdated, size: isClaimUpdated ? newSize : oldSize };
  return { skip, isClaimUpdated, isInfeasibleOnFailure };
}

export function expansionStarted({ status = {} }: PersistentVolumeClaim): ClaimStatus {
  return withResizeStatus(status, "NodeResizeInProgress");
}

export function expansionFinished(
  { status = {} }: PersistentVolumeClaim,
  newSize: Quantity,
): ClaimStatus {
  const { storage: _, ...others } = status.allocatedResourceStatuses ?? {};
  return {
    ...status,
    capacity: { ...status.capacity, storage: formatQuantity(newSize) },
    allocatedResourceStatuses: Object.keys(others).length === 0 ? undefined : others,
    conditions: (status.conditions ?? []).filter(({ type }) => !resizeConditions.has(type)),
  };
}

export function expansionFailed(
  { status = {} }: PersistentVolumeClaim,
  failure: { readonly message: string; readonly at: string; readonly isInfeasible: boolean },
): ClaimStatus {
  const next = failure.isInfeasible ? withResizeStatus(status, "NodeResizeInfeasible") : status;
  const condition: PersistentVolumeClaimCondition = {
    type: "NodeResizeError",
    status: "True",
    lastTransitionTime: failure.at,
    message: `failed to expand pvc with ${failure.message}`,
  };
  const known = status.conditions ?? [];
  const before = known.find(({ type }) => type === condition.type);
  if (before === undefined) return { ...next, conditions: [...known, condition] };
  // The first message stays as long as the condition holds.
  if (before.status === condition.status) return next;
  return { ...next, conditions: known.map((each) => (each === before ? condition : each)) };
}

function withResizeStatus(status: ClaimStatus, resizeStatus: ResizeStatus): ClaimStatus {
  const allocatedResourceStatuses = { ...status.allocatedResourceStatuses, storage: resizeStatus };
  return { ...status, allocatedResourceStatuses };
}

/** The merge patch that changes a claim's status; undefined when nothing changes. */
export function claimStatusPatch(
  { metadata, status = {} }: PersistentVolumeClaim,
  next: ClaimStatus,
  { isVersionChecked }: { readonly isVersionChecked: boolean },
): unknown {
  const keys = new Set([...Object.keys(status), ...Object.keys(next)]) as Set<keyof ClaimStatus>;
  const changes = [...keys].flatMap((key) => {
    if (JSON.stringify(status[key]) === JSON.stringify(next[key])) return [];
    return [[key, mergePatch(status[key], next[key])] as const];
  });
  if (changes.length === 0) return undefined;
  const version = isVersionChecked ? { resourceVersion: metadata?.resourceVersion } : {};
  return { metadata: version, status: Object.fromEntries(changes) };
}

/** What is gone from a map has to be named, as null. */
function mergePatch(before: unknown, next: unknown): unknown {
  if (next === undefined) return null;
  if (!isRecord(before) || !isRecord(next)) return next;
  const gone = Object.keys(before).filter((key) => next[key] === undefined);
  return { ...next, ...Object.fromEntries(gone.map((key) => [key, null])) };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
