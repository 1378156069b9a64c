// The file in which the resources of pods outlive the agent. Its format is the kubelet's, so that either can
// go on where the other stopped.

import { errorText } from "../../lib/error-text.ts";
import { fnv1a } from "../../lib/fnv.ts";
import { jsonText } from "../../lib/go-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import { parseQuantity } from "../../model/quantity.ts";
import type { PodResources } from "./pod-allocation.ts";
import { encodedResources } from "./resize-message.ts";

/** By pod UID. */
export type ResourcesByPod = ReadonlyMap<PodUid, PodResources>;

interface EncodedPod {
  readonly ContainerResources?: Readonly<Record<string, ResourceRequirements>> | null;
  readonly PodLevelResources?: ResourceRequirements | null;
}

export function encodeResourceCheckpoint(pods: ResourcesByPod): string {
  const entries = sorted(pods).map(([uid, { containers, pod }]) => {
    const encoded = {
      ContainerResources: Object.fromEntries(
        sorted(containers).map(([name, resources]) => [name, encodedResources(resources)]),
      ),
      PodLevelResources: pod === undefined ? null : encodedResources(pod),
    };
    return [uid, encoded] as const;
  });
  const data = jsonText(entries.length === 0 ? {} : { entries: Object.fromEntries(entries) });
  return jsonText({ data, checksum: checksum(data) });
}

/** An error says what is wrong with the text. */
export function parseResourceCheckpoint(text: string): Result<ResourcesByPod, string> {
  try {
    const file = parseJsonText(text) as { readonly data?: unknown; readonly checksum?: unknown };
    if (typeof file.data !== "string") return err("it has no data");
    if (checksum(file.data) !== file.checksum) return err("its checksum does not match");
    const { entries } = parseJsonText(file.data) as {
      readonly entries?: Readonly<Record<string, EncodedPod>> | null;
    };
    return ok(
      new Map(Object.entries(entries ?? {}).map(([uid, pod]) => [podUid(uid), decodePod(pod)])),
    );
  } catch (error) {
    return err(errorText(error));
  }
}

function decodePod({ ContainerResources, PodLevelResources }: EncodedPod): PodResources {
  const containers = Object.entries(ContainerResources ?? {});
  return {
    containers: new Map(containers.map(([name, resources]) => [name, checked(resources)])),
    pod:
      PodLevelResources === null || PodLevelResources === undefined
        ? undefined
        : checked(PodLevelResources),
  };
}

function checked(resources: ResourceRequirements): ResourceRequirements {
  const { requests, limits, claims } = resources;
  for (const text of Object.values({ ...requests, ...limits })) {
    const parsed = parseQuantity(text);
    if (!parsed.ok) throw new Error(`${text}: ${parsed.error}`);
  }
  return { requests, limits, claims };
}

/** A kubelet hashes a description of the value, which for a text is led by its type. */
function checksum(data: string): number {
  return fnv1a(`(string)${data}`);
}

function sorted<T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
