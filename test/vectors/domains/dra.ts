import { podsWithDevices, withClaimHealth } from "../../../src/core/devices/dra/claim-health.ts";
import { ClaimInfos } from "../../../src/core/devices/dra/claim-info.ts";
import {
  DeviceHealths,
  type Health,
  type ReportedHealth,
} from "../../../src/core/devices/dra/device-health.ts";
import { parseDraCheckpoint } from "../../../src/core/devices/dra/dra-checkpoint.ts";
import { compareText } from "../../../src/lib/compare-text.ts";
import { crc32 } from "../../../src/lib/crc32.ts";
import type { PodStatus } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { type DraPrepareInput, DraWorld } from "../dra-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface EncodedReport {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: "HEALTHY" | "UNHEALTHY" | "UNKNOWN";
  readonly message?: string;
  readonly healthCheckTimeoutSeconds?: number;
}

type HealthStep =
  | { readonly op: "advance"; readonly seconds: number }
  | {
      readonly op: "report";
      readonly driver: string;
      readonly devices?: readonly EncodedReport[];
    }
  | { readonly op: "endStream"; readonly driver: string }
  | { readonly op: "status"; readonly pod: string; readonly status: PodStatus };

interface HealthInput {
  readonly kind: "health";
  /** In the format of the checkpoint. */
  readonly claims: readonly unknown[];
  readonly pods: readonly Pod[];
  readonly steps: readonly HealthStep[];
}

const startMs = Date.UTC(2000, 0, 1);

export const dra: VectorDomain = vectorDomain<DraPrepareInput | HealthInput>(
  "dra",
  (given) => {
    const input = withoutNulls(given);
    return input.kind === "prepare" ? prepare(input) : health(input);
  },
  comparable,
);

/** Go writes absent lists as null. */
function withoutNulls<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_, field: unknown) => field ?? undefined) as T;
}

function prepare(input: DraPrepareInput) {
  const world = new DraWorld(input);
  const steps: unknown[] = [];
  for (const step of input.steps) {
    if (!world.hasFailed) steps.push(world.run(step));
  }
  return { steps, ...shownFile(world.checkpointFile) };
}

/** What the checkpoint says, and its text where no order of Go's maps shows in it. */
function shownFile(text: string): Record<string, unknown> {
  try {
    const { Data } = JSON.parse(text) as { readonly Data: string };
    const { ClaimInfoStateList } = JSON.parse(Data) as {
      readonly ClaimInfoStateList?: readonly {
        readonly Namespace: string;
        readonly ClaimName: string;
      }[];
    };
    const claims = ClaimInfoStateList ?? [];
    return {
      checkpointClaims: claims.toSorted((a, b) => compareText(a.ClaimName, b.ClaimName)),
      ...(claims.length <= 1 ? { checkpointText: text } : {}),
    };
  } catch {
    return {};
  }
}

function health({ claims: encoded, pods, steps }: HealthInput) {
  const data = JSON.stringify({ ClaimInfoStateList: encoded });
  const parsed = parseDraCheckpoint(JSON.stringify({ Data: data, Checksum: crc32(data) }));
  if (!parsed.ok) throw new Error(parsed.error);
  const claims = new ClaimInfos(parsed.value);
  const healths = new DeviceHealths();
  const streams = new Set<string>();
  let nowMs = startMs;
  let file: string | undefined;
  const act = (step: HealthStep): Record<string, unknown> => {
    switch (step.op) {
      case "advance":
        nowMs += step.seconds * 1000;
        return {};
      case "report": {
        streams.add(step.driver);
        const changed = healths.update(
          step.driver,
          (step.devices ?? []).map(reportedHealth),
          nowMs,
        );
        if (changed.length > 0) file = healths.encode();
        const affected = podsWithDevices(claims, step.driver, changed);
        return { podsToUpdate: [...affected].toSorted(compareText) };
      }
      case "endStream":
        // A stream begins with its first report.
        if (!streams.delete(step.driver)) return {};
        healths.clear(step.driver);
        file = healths.encode();
        return {};
      case "status": {
        const pod = pods.find(({ metadata }) => metadata.uid === step.pod);
        if (pod === undefined) throw new Error(`no pod ${step.pod}`);
        return shownStatuses(withClaimHealth(pod, step.status, { claims, healths, nowMs }));
      }
    }
  };
  const answers = steps.map(act);
  return { steps: answers, healthFile: file === undefined ? undefined : JSON.parse(file) };
}

function reportedHealth(report: EncodedReport): ReportedHealth {
  const healths: Record<EncodedReport["health"], Health> = {
    HEALTHY: "Healthy",
    UNHEALTHY: "Unhealthy",
    UNKNOWN: "Unknown",
  };
  return {
    pool: report.poolName,
    device: report.deviceName,
    health: healths[report.health],
    message: report.message ?? "",
    timeoutSeconds: report.healthCheckTimeoutSeconds ?? 0,
  };
}

function shownStatuses({ containerStatuses = [] }: PodStatus): Record<string, unknown> {
  return {
    containerStatuses: containerStatuses.map(({ name, allocatedResourcesStatus = [] }) => ({
      name,
      allocatedResourcesStatus: allocatedResourcesStatus
        .toSorted((a, b) => compareText(a.name, b.name))
        .map((status) => ({
          ...status,
          resources: status.resources?.toSorted((a, b) => compareText(a.resourceID, b.resourceID)),
        })),
    })),
  };
}

/** Texts of JSON errors are Go's. */
function comparable(value: unknown): unknown {
  const { steps = [], ...rest } = value as { readonly steps?: readonly { error?: string }[] };
  return {
    ...rest,
    steps: steps.map((step) => ({
      ...step,
      error: step.error?.replace(
        /(dra_manager_state|GetEntries\(\) on checkpoint): (?!checkpoint is corrupted).*/,
        "$1: not JSON",
      ),
    })),
  };
}
