import { err, ok, type Result } from "../../../lib/result.ts";
import type { Container } from "../../../model/generated/kubernetes.ts";
import { isSidecar, type Pod } from "../../../model/pod.ts";
import { exactInt64 } from "../../../model/quantity.ts";
import { resourceList } from "../../resource/resource-list.ts";
import { isMemoryResource } from "./reserved-memory.ts";

/** Bytes by resource, in the order of names. */
export type MemoryRequests = ReadonlyMap<string, bigint>;

export function memoryRequests({ resources }: Container): Result<MemoryRequests, string> {
  const requests = new Map<string, bigint>();
  const names = [...resourceList(resources?.requests).keys()].filter(isMemoryResource).toSorted();
  for (const name of names) {
    const amount = resourceList(resources?.requests).get(name);
    const bytes = amount && exactInt64(amount);
    if (bytes === undefined) return err("[memorymanager] failed to represent quantity as int64");
    requests.set(name, bytes);
  }
  return ok(requests);
}

/** What a pod needs at once: init containers run one after the other, beside the sidecars before them. */
export function podMemoryRequests(pod: Pod): Result<MemoryRequests, string> {
  const sidecars = new Map<string, bigint>();
  const starts = new Map<string, bigint>();
  for (const container of pod.spec.initContainers ?? []) {
    const requests = memoryRequests(container);
    if (!requests.ok) return requests;
    for (const [name, bytes] of requests.value) {
      const together = (sidecars.get(name) ?? 0n) + bytes;
      if (isSidecar(container)) sidecars.set(name, together);
      else if (together > (starts.get(name) ?? 0n)) starts.set(name, together);
    }
  }
  const regular = new Map<string, bigint>();
  for (const container of pod.spec.containers) {
    const requests = memoryRequests(container);
    if (!requests.ok) return requests;
    for (const [name, bytes] of requests.value) {
      regular.set(name, (regular.get(name) ?? 0n) + bytes);
    }
  }
  // What init containers alone ask for does not count.
  return ok(
    new Map(
      Array.from(regular, ([name, bytes]) => {
        const running = bytes + (sidecars.get(name) ?? 0n);
        const start = starts.get(name) ?? 0n;
        return [name, running > start ? running : start];
      }),
    ),
  );
}
