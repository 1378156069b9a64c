import type { Cgroups } from "../../../ports/cgroups.ts";
import type { HostUsage } from "../../../ports/host-usage.ts";
import type { MeasuredCgroup } from "../../../ports/stats.ts";
import type { CgroupSamples } from "./cgroup-samples.ts";
import type { RunningPod } from "./running-pods.ts";

export interface MeasuredCgroupsDeps {
  readonly samples: CgroupSamples;
  readonly cgroups: Pick<Cgroups, "listPids">;
  readonly host: Pick<HostUsage, "interfaces" | "disks" | "processes">;
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
  const { host, samples, sharedCgroups } = deps;
  const owners: Owner[] = [
    { ...noOwner, id: "/", interfaces: await host.interfaces(undefined) },
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
      processes: isProgram ? await host.processes(ownPids(deps, owner.id)) : undefined,
      disks: isMachine ? await host.disks() : undefined,
    });
  }
  return measured;
}

/** The machine's own cgroup stands for its first process: it would be all of them. */
function ownPids({ cgroups }: MeasuredCgroupsDeps, id: string): readonly number[] {
  return id === "/" ? [1] : cgroups.listPids(id);
}

async function podOwners(deps: MeasuredCgroupsDeps, pod: RunningPod): Promise<readonly Owner[]> {
  const { cgroup, sandboxCgroup, sandbox, containers } = pod;
  const owned = { ...noOwner, pod: pod.name, namespace: pod.namespace };
  const pid = deps.sandboxPid(pod);
  const interfaces = pid === undefined ? undefined : await deps.host.interfaces(pid);
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
