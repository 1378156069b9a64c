import { err, ok, type Result } from "../../lib/result.ts";
import type { Pod } from "../../model/pod.ts";
import {
  compareQuantity,
  formatQuantity,
  parseQuantity,
  type Quantity,
} from "../../model/quantity.ts";
import { hugePagesPrefix } from "../resource/resource-list.ts";

const medium = "HugePages";

export function isHugePagesMedium(text: string): boolean {
  return text === medium || text.startsWith(`${medium}-`);
}

/** The page size of a volume of huge pages: the one its medium names, or the only one that the pod requests. */
export function hugePageSize(text: string, pod: Pod): Result<string, string> {
  const requested: Quantity[] = [];
  for (const name of requestNames(pod)) {
    if (!name.startsWith(hugePagesPrefix)) continue;
    const size = parseQuantity(name.slice(hugePagesPrefix.length));
    if (!size.ok) return size;
    requested.push(size.value);
  }
  const [first] = requested;
  const none = `medium ${text}: hugePages storage requested, but there is no resource request for huge pages`;
  if (text !== medium) {
    const wanted = parseQuantity(text.slice(medium.length + 1));
    if (!wanted.ok) return wanted;
    const found = requested.find((size) => isAlike(size, wanted.value));
    return found === undefined ? err(none) : ok(formatQuantity(found));
  }
  if (first === undefined) return err(none);
  if (requested.some((size) => !isAlike(size, first))) {
    return err(`medium: ${text} can't be used if container requests multiple huge page sizes`);
  }
  return ok(formatQuantity(first));
}

function requestNames(pod: Pod): readonly string[] {
  const { resources, containers, initContainers = [] } = pod.spec;
  const requirements = [resources, ...[...containers, ...initContainers].map((c) => c.resources)];
  return requirements.flatMap((each) => Object.keys(each?.requests ?? {}));
}

function isAlike(a: Quantity, b: Quantity): boolean {
  return compareQuantity(a, b) === 0;
}
