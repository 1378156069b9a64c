import { parseDraCheckpoint } from "../../../src/core/devices/dra/dra-checkpoint.ts";
import { DraDrivers } from "../../../src/core/devices/dra/dra-drivers.ts";
import { DraManager } from "../../../src/core/devices/dra/dra-manager.ts";
import {
  allocatableResources,
  getPodResources,
  listPodResources,
  type ResourceManagers,
} from "../../../src/core/devices/pod-resources.ts";
import { compareText } from "../../../src/lib/compare-text.ts";
import { crc32 } from "../../../src/lib/crc32.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { type EncodedNodeManagers, NodeManagers } from "../node-managers.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Step =
  | { readonly op: "admit" | "removePod"; readonly pod: string }
  | { readonly op: "list" | "allocatable" }
  | { readonly op: "get"; readonly name?: string; readonly namespace?: string };

interface Input {
  readonly node: EncodedNodeManagers;
  /** In the format of the checkpoint. */
  readonly claims?: readonly unknown[] | null;
  readonly pods: readonly Pod[];
  readonly steps: readonly Step[];
}

export const podResourcesApi: VectorDomain = vectorDomain<Input>(
  "pod-resources-api",
  async ({ node, claims, pods, steps }) => {
    const managers = new NodeManagers(node, pods);
    const { cpus, memory, devices } = managers;
    const resources = { cpus, memory, devices, dra: draManager(claims ?? []) };
    const results: object[] = [];
    for (const step of steps) results.push(await run(step, managers, resources, pods));
    return { steps: results };
  },
  comparable,
);

async function run(
  step: Step,
  managers: NodeManagers,
  resources: ResourceManagers,
  pods: readonly Pod[],
): Promise<object> {
  switch (step.op) {
    case "admit":
      return managers.admit(step.pod);
    case "removePod":
      managers.pods.remove(step.pod);
      return {};
    case "list": {
      const active = managers.pods.list();
      const activePods = new Set(active.map(({ metadata }) => metadata.uid));
      managers.devices.releaseInactive({ activePods, sourcesReady: true });
      return { response: encoded(listPodResources(resources, active)) };
    }
    case "get": {
      const request = { podName: step.name, podNamespace: step.namespace };
      const pod = pods.find(
        ({ metadata }) => metadata.name === step.name && metadata.namespace === step.namespace,
      );
      const got = getPodResources(resources, request, pod);
      return got.ok ? { response: encoded(got.value) } : { error: got.error };
    }
    case "allocatable":
      return { response: encoded(allocatableResources(resources)) };
  }
}

function draManager(claims: readonly unknown[]): DraManager {
  const data = JSON.stringify(
    { ClaimInfoStateList: claims },
    (_, field: unknown) => field ?? undefined,
  );
  const parsed = parseDraCheckpoint(JSON.stringify({ Data: data, Checksum: crc32(data) }));
  if (!parsed.ok) throw new Error(parsed.error);
  return new DraManager(new DraDrivers(), parsed.value);
}

/** With the field names of the proto file, and without zero values. */
function encoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(encoded);
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => !isZero(field));
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name === "ID" ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      encoded(field),
    ]),
  );
}

function isZero(field: unknown): boolean {
  if (Array.isArray(field)) return field.length === 0;
  return field === undefined || field === "" || field === 0n;
}

/** Upstream's order is random, except of containers, claims and CDI devices. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]: [string, unknown]) => {
      const inner = comparable(field);
      const isSorted = ["devices", "memory", "claim_resources"].includes(name);
      return [name, isSorted && Array.isArray(inner) ? inner.toSorted(byText) : inner];
    }),
  );
}

function byText(a: unknown, b: unknown): number {
  return compareText(JSON.stringify(a), JSON.stringify(b));
}
