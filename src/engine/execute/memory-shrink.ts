import { errorText } from "../../lib/error-text.ts";
import { joinedErrors } from "../../lib/joined-errors.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import { rawContainerId } from "../../model/ids.ts";
import { podDisplayName } from "../../model/pod.ts";
import type { ResizeDeps, ResizeRequest } from "./resize-deps.ts";

interface ShrinkRequest extends ResizeRequest {
  readonly wanted: CgroupResources;
  readonly current: CgroupResources;
}

/** Why memory limits cannot be lowered now: more is in use than they would allow. */
export async function memoryShrinkProblem(
  deps: ResizeDeps,
  request: ShrinkRequest,
): Promise<string | undefined> {
  const { pod, wanted, current } = request;
  const podBytes = wanted.memoryBytes;
  const podShrinks =
    podBytes !== undefined && (current.memoryBytes === undefined || podBytes < current.memoryBytes);
  const shrinking = request.step.updates.memory.filter(
    (update) =>
      update.desired.memoryLimit !== 0 &&
      (update.current.memoryLimit === 0 || update.desired.memoryLimit < update.current.memoryLimit),
  );
  if (!podShrinks && shrinking.length === 0) return undefined;
  const problems: string[] = [];
  try {
    const usedBytes = deps.cgroups.memoryUsageBytes(pod);
    if (podShrinks && usedBytes >= podBytes) {
      problems.push(
        `attempting to set pod memory limit (${podBytes}) below current usage (${usedBytes})`,
      );
    }
    const usages = await containerUsages(deps, request);
    for (const { name, containerId, desired } of shrinking) {
      const id = rawContainerId(containerId);
      const used = usages.get(id);
      if (used === undefined) {
        if (usages.has(id)) problems.push(`missing container "${name}" memory usage`);
      } else if (used >= BigInt(desired.memoryLimit)) {
        problems.push(
          `attempting to set container "${name}" memory limit (${desired.memoryLimit}) below current usage (${used})`,
        );
      }
    }
  } catch (error) {
    deps.lifetime.throwIfAborted();
    deps.log.warn("cannot read memory usage", { error: errorText(error) });
    return `unable to read memory usage for pod "${podDisplayName(pod)}"`;
  }
  if (problems.length === 0) return undefined;
  return `cannot decrease memory limits: ${joinedErrors(problems)}`;
}

/** By the runtime's id; undefined where the runtime has statistics of a container, but not of its memory. */
async function containerUsages(
  { runtime, lifetime }: ResizeDeps,
  { sandboxId }: ShrinkRequest,
): Promise<ReadonlyMap<string, bigint | undefined>> {
  const stats = await runtime.listContainerStats({ podSandboxId: sandboxId }, lifetime);
  return new Map(
    stats.map(({ attributes, memory }) => [
      attributes?.id ?? "",
      memory?.usageBytes?.value ?? memory?.workingSetBytes?.value,
    ]),
  );
}
