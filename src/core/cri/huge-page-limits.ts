import type { HugepageLimit } from "../../model/generated/cri.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { parseQuantity, quantityValue } from "../../model/quantity.ts";
import { hasPodLevelResources } from "../resource/pod-resources.ts";
import { hugePagesPrefix, resourceList } from "../resource/resource-list.ts";

const units = ["B", "KB", "MB", "GB", "TB", "PB"];

/** A limit for every page size of the kernel: 0 for those that neither the container nor the pod names. */
export function hugePageLimits(
  pod: Pod,
  container: AnyContainer,
  pageSizes: readonly string[],
): HugepageLimit[] {
  const wanted = new Map<string, bigint>([
    ...(hasPodLevelResources(pod) ? limitsByPageSize(pod.spec.resources?.limits) : []),
    ...limitsByPageSize(container.resources?.limits),
  ]);
  return pageSizes.map((pageSize) => ({ pageSize, limit: wanted.get(pageSize) ?? 0n }));
}

function limitsByPageSize(
  limits: Readonly<Record<string, string>> | undefined,
): (readonly [string, bigint])[] {
  return [...resourceList(limits)].flatMap(([name, amount]) => {
    const pageSize = pageSizeOfResource(name);
    return pageSize === undefined ? [] : [[pageSize, quantityValue(amount)] as const];
  });
}

/** "hugepages-2Mi" is about pages of "2MB", in the words of the kernel. */
function pageSizeOfResource(name: string): string | undefined {
  if (!name.startsWith(hugePagesPrefix)) return undefined;
  const parsed = parseQuantity(name.slice(hugePagesPrefix.length));
  if (!parsed.ok) return undefined;
  let size = quantityValue(parsed.value);
  let unit = 0;
  while (size % 1024n === 0n && unit < units.length - 1) {
    size /= 1024n;
    unit++;
  }
  const isOddSize = size > 1024n && unit < units.length - 1;
  return isOddSize ? undefined : `${size}${units[unit]}`;
}
