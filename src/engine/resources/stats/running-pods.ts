import {
  containerIdOfCgroup,
  countedContainers,
  countedSandboxes,
} from "../../../core/stats/counted-containers.ts";
import type { Container, PodSandbox } from "../../../model/generated/cri.ts";
import { type PodUid, podUid } from "../../../model/ids.ts";
import type { Cgroups } from "../../../ports/cgroups.ts";
import type { ContainerRuntime } from "../../../ports/container-runtime.ts";
import type { Faults } from "../../agent/faults.ts";
import type { NodePodCgroups } from "../pod-cgroups.ts";

export interface RunningPodsDeps {
  readonly runtime: Pick<ContainerRuntime, "listContainers" | "listPodSandboxes">;
  readonly cgroups: Pick<Cgroups, "listChildren">;
  readonly faults: Pick<Faults, "attempt">;
  readonly podCgroups: Pick<NodePodCgroups, "podPaths">;
}

/** A pod that runs, and where its cgroups are. */
export interface RunningPod {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  readonly sandbox: PodSandbox;
  readonly cgroup: string | undefined;
  readonly sandboxCgroup: string | undefined;
  readonly containers: readonly RunningContainer[];
}

export interface RunningContainer {
  readonly id: string;
  readonly name: string;
  readonly container: Container;
  readonly cgroup: string | undefined;
}

/** The pods with a container that runs, by the runtime's word. */
export async function listRunningPods(
  { runtime, cgroups, podCgroups, faults }: RunningPodsDeps,
  signal: AbortSignal,
): Promise<readonly RunningPod[]> {
  const [containers, sandboxes] = await Promise.all([
    runtime.listContainers({}, signal),
    runtime.listPodSandboxes({}, signal),
  ]);
  const bySandbox = new Map<string, Container[]>();
  for (const container of countedContainers(containers)) {
    const sandboxId = container.podSandboxId ?? "";
    const others = bySandbox.get(sandboxId);
    if (others === undefined) bySandbox.set(sandboxId, [container]);
    else others.push(container);
  }
  const paths = podCgroups.podPaths();
  return countedSandboxes(sandboxes).flatMap((sandbox) => {
    const running = bySandbox.get(sandbox.id ?? "");
    if (running === undefined) return [];
    const { name = "", namespace = "" } = sandbox.metadata ?? {};
    const uid = podUid(sandbox.metadata?.uid ?? "");
    const cgroup = paths.get(uid);
    const listed =
      cgroup === undefined ? [] : faults.attempt("stats", uid, () => cgroups.listChildren(cgroup));
    const children = new Map(
      (listed ?? []).map((child) => [containerIdOfCgroup(child), `${cgroup}/${child}`]),
    );
    return [
      {
        uid,
        name,
        namespace,
        sandbox,
        cgroup,
        sandboxCgroup: children.get(sandbox.id ?? ""),
        containers: running.map((container) => ({
          id: container.id ?? "",
          name: container.metadata?.name ?? "",
          container,
          cgroup: children.get(container.id ?? ""),
        })),
      },
    ];
  });
}
