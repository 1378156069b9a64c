import type { ObservedContainer } from "../../model/observed.ts";
import type { AnyContainer } from "../../model/pod.ts";
import { matchingRestartRule } from "../restart/restart-policy.ts";
import type { PlanPodInput } from "./plan-input.ts";
import type { ResetContainerStep } from "./step.ts";

/**
 * Removes every container of the pod, old instances too. Those whose exit asked for it go last: while one
 * of them exists, an interrupted reset is taken up again.
 */
export function planReset({ pod, observed }: PlanPodInput): ResetContainerStep[] {
  const resets = (containers: readonly AnyContainer[]) =>
    containers.flatMap((container) =>
      observed.containers
        .filter(({ name }) => name === container.name)
        .map((seen) => resetOf(container, seen)),
    );
  const regular = resets(pod.spec.containers);
  const init = resets(pod.spec.initContainers ?? []);
  return [
    ...regular.filter(({ asked }) => !asked),
    ...init.filter(({ asked }) => !asked),
    ...regular.filter(({ asked }) => asked),
    ...init.filter(({ asked }) => asked),
  ].map(({ step }) => step);
}

function resetOf(
  container: AnyContainer,
  seen: ObservedContainer,
): { readonly asked: boolean; readonly step: ResetContainerStep } {
  const { name } = container;
  const asked =
    seen.state === "exited" &&
    matchingRestartRule(container, seen.exitCode)?.action === "RestartAllContainers";
  const because = asked
    ? `container ${name} exited with code ${seen.exitCode} and its restart rule is RestartAllContainers`
    : `all containers of the pod start over, and container ${name} is ${seen.state}`;
  const kill = seen.state !== "exited";
  return { asked, step: { kind: "reset-container", containerId: seen.id, name, kill, because } };
}
