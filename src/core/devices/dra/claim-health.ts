import { compareText } from "../../../lib/compare-text.ts";
import type {
  Container,
  ContainerStatus,
  PodStatus,
  ResourceHealth,
  ResourceStatus,
} from "../../../model/generated/kubernetes.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import type { ClaimInfo, ClaimInfos } from "./claim-info.ts";
import type { DeviceHealth, DeviceHealths } from "./device-health.ts";
import { claimOf } from "./pod-claims.ts";

export interface HealthView {
  readonly claims: ClaimInfos;
  readonly healths: DeviceHealths;
  readonly nowMs: number;
}

/** The pods whose status changes with the health of devices. */
export function podsWithDevices(
  claims: ClaimInfos,
  driver: string,
  changed: readonly Pick<DeviceHealth, "pool" | "device">[],
): Set<PodUid> {
  const isChanged = (one: Pick<DeviceHealth, "pool" | "device">): boolean =>
    changed.some(({ pool, device }) => pool === one.pool && device === one.device);
  const affected = claims.all().filter(({ drivers }) => drivers.get(driver)?.some(isChanged));
  return new Set(affected.flatMap(({ pods }) => [...pods]));
}

/** The container statuses with the health of the devices that claims give each container. */
export function withClaimHealth(pod: Pod, status: PodStatus, view: HealthView): PodStatus {
  const containerStatuses = status.containerStatuses?.map((containerStatus) => {
    const container = pod.spec.containers.find(({ name }) => name === containerStatus.name);
    return container === undefined || (container.resources?.claims ?? []).length === 0
      ? containerStatus
      : withContainerHealth(pod, container, containerStatus, view);
  });
  return { ...status, containerStatuses };
}

function withContainerHealth(
  pod: Pod,
  container: Container,
  status: ContainerStatus,
  view: HealthView,
): ContainerStatus {
  const before = status.allocatedResourcesStatus ?? [];
  const statuses = new Map(before.map((entry): [string, ResourceStatus] => [entry.name, entry]));
  for (const { name, request = "" } of container.resources?.claims ?? []) {
    const claimName = claimNameOf(pod, name);
    const claim =
      claimName === undefined ? undefined : view.claims.get(pod.metadata.namespace, claimName);
    if (claim === undefined) continue;
    const resource = request === "" ? `claim:${name}` : `claim:${name}/${request}`;
    statuses.set(resource, { name: resource, resources: healthOf(claim, request, view) });
  }
  const filled = [...statuses.values()].filter(({ resources = [] }) => resources.length > 0);
  return { ...status, allocatedResourcesStatus: filled };
}

/** By the pod's status; where that is not filled in yet, by its spec. */
function claimNameOf(pod: Pod, name: string): string | undefined {
  const statuses = pod.status?.resourceClaimStatuses ?? [];
  const named = statuses.findLast(
    (entry) => entry.name === name && entry.resourceClaimName !== undefined,
  );
  const known = named?.resourceClaimName;
  if (known !== undefined && known !== "") return known;
  const entry = pod.spec.resourceClaims?.find((claim) => claim.name === name);
  const claim = entry === undefined ? undefined : claimOf(pod, entry);
  return claim?.ok === true ? claim.value?.name : undefined;
}

function healthOf({ drivers }: ClaimInfo, request: string, view: HealthView): ResourceHealth[] {
  // A request may name one of its alternatives, request/alternative; devices name the request.
  const [base = ""] = request.split("/");
  const healths = new Map<string, ResourceHealth>();
  for (const [driver, devices] of [...drivers].toSorted(([a], [b]) => compareText(a, b))) {
    for (const prepared of devices) {
      const { pool, device, requests, cdiDevices } = prepared;
      if (request !== "" && requests.length > 0 && !requests.includes(base)) continue;
      const resourceID = cdiDevices[0] ?? `${driver}/${pool}/${device}`;
      if (healths.has(resourceID)) continue;
      const { health, message } = view.healths.get(driver, prepared, view.nowMs);
      healths.set(resourceID, {
        resourceID,
        health,
        ...(message === "" ? {} : { message }),
      });
    }
  }
  return [...healths.values()];
}
