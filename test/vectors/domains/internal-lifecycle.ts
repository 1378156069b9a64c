import { ContainerLifecycle } from "../../../src/core/devices/container-lifecycle.ts";
import { cpuSetText } from "../../../src/model/cpu-set.ts";
import { type Pod, podContainers } from "../../../src/model/pod.ts";
import { encodeHint } from "../machine-encodings.ts";
import { type EncodedNodeManagers, NodeManagers } from "../node-managers.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface OfContainer {
  readonly pod: string;
  readonly container: string;
}

type Step =
  | { readonly op: "admit" | "removePod"; readonly pod: string }
  | ({ readonly op: "preCreate" } & OfContainer)
  | ({ readonly op: "preStart"; readonly containerID: string } & OfContainer)
  | { readonly op: "postStop"; readonly containerID: string };

interface Input {
  readonly node: EncodedNodeManagers;
  readonly pods: readonly Pod[];
  readonly steps: readonly Step[];
}

export const internalLifecycle: VectorDomain = vectorDomain<Input>(
  "internal-lifecycle",
  async ({ node, pods, steps }) => {
    const managers = new NodeManagers(node, pods);
    const { cpus, memory, topology } = managers;
    const lifecycle = new ContainerLifecycle(cpus, memory, topology);
    const started = new Map<string, string>();
    const run = async (step: Step): Promise<object> => {
      switch (step.op) {
        case "admit":
          return {
            ...(await managers.admit(step.pod)),
            ...shownPod(managers, step.pod),
            podHasExclusiveCPUs: hasExclusiveCpus(managers, step.pod),
          };
        case "removePod":
          managers.pods.remove(step.pod);
          return {};
        case "preCreate": {
          const { pod, container } = managers.pods.find(step);
          const { cpusetCpus, cpusetMems } = lifecycle.beforeCreation(pod, container);
          return { linuxResources: { cpuset_cpus: cpusetCpus, cpuset_mems: cpusetMems } };
        }
        case "preStart": {
          const { pod, container } = managers.pods.find(step);
          lifecycle.beforeStart(pod, container, step.containerID);
          started.set(step.containerID, step.pod);
          return shownPod(managers, step.pod);
        }
        case "postStop": {
          lifecycle.afterStop(step.containerID);
          const pod = started.get(step.containerID);
          return pod === undefined ? {} : shownPod(managers, pod);
        }
      }
    };
    const results: object[] = [];
    for (const step of steps) results.push(await run(step));
    return { steps: results };
  },
);

function shownPod({ pods, cpus, memory, topology }: NodeManagers, podUid: string): object {
  const shown = podContainers(pods.get(podUid)).map(({ container: { name } }) => {
    const ref = { podUid, container: name };
    const state = {
      cpuAffinity: cpuSetText(cpus.cpusFor(ref)),
      exclusiveCPUs: cpuSetText(cpus.exclusiveCpus(ref)),
      memoryNUMANodes: memory.nodesFor(ref),
      topologyAffinity: encodeHint(topology.affinity(ref)),
    };
    return [name, state] as const;
  });
  return { containers: Object.fromEntries(shown) };
}

function hasExclusiveCpus({ pods, cpus }: NodeManagers, podUid: string): boolean {
  return podContainers(pods.get(podUid)).some(
    ({ container }) => cpus.exclusiveCpus({ podUid, container: container.name }).length > 0,
  );
}
