import {
  containerIdOfCgroup,
  countedContainers,
  countedSandboxes,
} from "../../../core/stats/counted-containers.ts";
import { beginAll } from "../../../lib/begin-all.ts";
import type { Container, PodSandbox } from "../../../model/generated/cri.ts";
import { type PodUid, podUid } from "../../../model/ids.ts";
import type { Cgroups } from "../../../ports/cgroups.ts";
import type { ContainerRuntime } from "../../../ports/container-runtime.ts";
import type { HostUsage } from "../../../ports/host-usage.ts";
import type { MeasuredCgroup } from "../../../ports/stats.ts";
import type { Faults } from "../../agent/faults.ts";
import type { NodePodCgroups } from "../pod-cgroups.ts";
import type { CgroupSamples } from "./cgroup-samples.ts";

export interface RunningPodsDeps {
  readonly runtime: Pick<ContainerRuntime, "listContainers" | "listPodSandboxes">;
  readonly hostCgroups: Pick<Cgroups, "listChildren">;
  readonly faults: Pick<Faults, "attempt">;
  readonly cgroups: Pick<NodePodCgroups, "podPaths">;
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
  { runtime, hostCgroups, cgroups, faults }: RunningPodsDeps,
  signal: AbortSignal,
): Promise<readonly RunningPod[]> {
  const [containers, sandboxes] = await beginAll(
    () => runtime.listContainers({}, signal),
    () => runtime.listPodSandboxes({}, signal),
  );
  const bySandbox = new Map<string, Container[]>();
  for (const container of countedContainers(containers)) {
    const sandboxId = container.podSandboxId ?? "";
    const others = bySandbox.get(sandboxId);
    if (others === undefined) bySandbox.set(sandboxId, [container]);
    else others.push(container);
  }
  const paths = cgroups.podPaths();
  return countedSandboxes(sandboxes).flatMap((sandbox) => {
    const running = bySandbox.get(sandbox.id ?? "");
    if (running === undefined) return [];
    const { name = "", namespace = "" } = sandbox.metadata ?? {};
    const uid = podUid(sandbox.metadata?.uid ?? "");
    const cgroup = paths.get(uid);
    const listed =
      cgroup === undefined
        ? []
        : faults.attempt("stats", uid, () => hostCgroups.listChildren(cgroup));
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

interface MeasuredCgroupsDeps {
  readonly samples: CgroupSamples;
  readonly hostCgroups: Pick<Cgroups, "listPids">;
  readonly hostUsage: Pick<HostUsage, "interfaces" | "disks" | "processes">;
  /** The cgroups of all pods and of the classes. */
  readonly sharedCgroups: readonly string[];
  readonly sandboxPid: (pod: RunningPod) => number | undefined;
}

type Owner = Omit<MeasuredCgroup, "usage" | "processes" | "disks">;

const noOwner = { name: "", image: "", container: "", pod: "", namespace: "" };

/** Every cgroup that matters, from the machine's down to each container's, with its owner and usage. */
export async function listMeasuredCgroups(
  deps: MeasuredCgroupsDeps,
  pods: readonly RunningPod[],
): Promise<readonly MeasuredCgroup[]> {
  const { hostUsage, samples, sharedCgroups } = deps;
  const owners: Owner[] = [
    { ...noOwner, id: "/", interfaces: await hostUsage.interfaces(undefined) },
    ...sharedCgroups.map((id) => ({ ...noOwner, id })),
  ];
  for (const pod of pods) owners.push(...(await podOwners(deps, pod)));
  const measured: MeasuredCgroup[] = [];
  for (const owner of owners) {
    const sample = await samples.readDetail(owner.id);
    if (sample === undefined) continue;
    const isMachine = owner.id === "/";
    const isProgram = isMachine || owner.name !== "";
    measured.push({
      ...owner,
      usage: sample.usage,
      // Only where programs run: the others hold none themselves.
      processes: isProgram ? await hostUsage.processes(ownPids(deps, owner.id)) : undefined,
      disks: isMachine ? await hostUsage.disks() : undefined,
    });
  }
  return measured;
}

/** The machine's own cgroup stands for its first process: it would be all of them. */
function ownPids({ hostCgroups }: MeasuredCgroupsDeps, id: string): readonly number[] {
  return id === "/" ? [1] : hostCgroups.listPids(id);
}

async function podOwners(deps: MeasuredCgroupsDeps, pod: RunningPod): Promise<readonly Owner[]> {
  const { cgroup, sandboxCgroup, sandbox, containers } = pod;
  const owned = { ...noOwner, pod: pod.name, namespace: pod.namespace };
  const pid = deps.sandboxPid(pod);
  const interfaces = pid === undefined ? undefined : await deps.hostUsage.interfaces(pid);
  return [
    ...(cgroup === undefined ? [] : [{ ...owned, id: cgroup }]),
    ...(sandboxCgroup === undefined
      ? []
      : [{ ...owned, id: sandboxCgroup, name: sandbox.id ?? "", interfaces }]),
    ...containers.flatMap(({ id, name, container, cgroup: own }) => {
      if (own === undefined) return [];
      const image = container.image?.userSpecifiedImage || (container.image?.image ?? "");
      return [{ ...owned, id: own, name: id, image, container: name }];
    }),
  ];
}
