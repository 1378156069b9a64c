import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import { ContainerState } from "../../../src/model/generated/cri.ts";
import type { Cgroups } from "../../../src/ports/cgroups.ts";
import type { CsiNodeClient } from "../../../src/ports/csi-drivers.ts";
import { preStopMark } from "../simulator/random-pod.ts";
import type { SourceEdit } from "./edited-agent.ts";

/** An agent that is broken on purpose: what it sees, does or decides is not what it should be. */
export type Mutant = {
  readonly name: string;
  /** The promise that it breaks. */
  readonly promise: string;
  /** Only nodes with devices can notice it. */
  readonly withDevices?: true;
} & (
  | { readonly sabotage: Sabotage; readonly edit?: undefined }
  | { readonly sabotage?: undefined; readonly edit: SourceEdit }
);

const startGate = "src/core/worker/start-gate.ts";

export const mutants: readonly Mutant[] = [
  {
    name: "overlooks what runs",
    promise: "at most one instance of a container runs",
    sabotage: withRuntime((runtime) => ({
      listContainers: async (filter, signal) => {
        const all = await runtime.listContainers(filter, signal);
        return all.filter(({ state }) => state !== ContainerState.CONTAINER_RUNNING);
      },
    })),
  },
  {
    name: "takes every end for a good one",
    promise: "init containers have succeeded before others start",
    sabotage: withRuntime((runtime) => ({
      containerStatus: async (id, signal) => {
        const answer = await runtime.containerStatus(id, signal);
        return { ...answer, status: { ...answer.status, exitCode: 0 } };
      },
    })),
  },
  {
    name: "skips hooks",
    promise: "a container's preStop hook runs before it is stopped",
    sabotage: withRuntime((runtime) => ({
      execSync: (id, command, timeoutSeconds, signal) =>
        command.at(-1) === preStopMark
          ? Promise.resolve({ exitCode: 0 })
          : runtime.execSync(id, command, timeoutSeconds, signal),
    })),
  },
  {
    name: "is too patient",
    promise: "the grace period is a deadline",
    sabotage: withRuntime((runtime) => ({
      stopContainer: (id, timeoutSeconds, signal) =>
        runtime.stopContainer(id, timeoutSeconds + 30, signal),
    })),
  },
  {
    name: "forgets",
    promise: "a restart with nothing changed changes nothing",
    sabotage: withFiles("files", (files) => ({
      list: (path) => (path.endsWith("/statuses") ? Promise.resolve([]) : files.list(path)),
    })),
  },
  {
    name: "leaves mounts behind",
    promise: "a pod that is gone leaves nothing",
    sabotage: withFiles("mounts", () => ({ unmount: () => Promise.resolve() })),
  },
  {
    name: "leaves cgroups behind",
    promise: "a pod that is gone leaves nothing",
    sabotage: withCgroups({ remove: () => Promise.resolve() }),
  },
  {
    name: "leaves data folders behind",
    promise: "a pod that is gone leaves nothing",
    sabotage: withoutRemoval("/pods/"),
  },
  {
    name: "leaves logs behind",
    promise: "a pod that is gone leaves nothing",
    sabotage: withoutRemoval("-logs/"),
  },
  {
    name: "leaves statuses behind",
    promise: "a pod that is gone leaves nothing",
    sabotage: withFiles("files", (files) => ({
      removeFile: (path) =>
        path.includes("/statuses/") ? Promise.resolve() : files.removeFile(path),
    })),
  },
  {
    name: "misses cgroups",
    promise: "a healthy pod is never touched",
    sabotage: withCgroups({ exists: () => false }),
  },
  {
    name: "takes every name for free",
    promise: "never two pods with one full name",
    edit: {
      file: startGate,
      from: "const kept = howNameIsKept(pod.worker, other);",
      to: "const kept = undefined as ReturnType<typeof howNameIsKept>;",
    },
  },
  {
    name: "starts beside what only the runtime knows",
    promise: "never two pods with one full name",
    edit: {
      file: startGate,
      from: 'if (runtime === "nothing-runs") return undefined;',
      to: "if (worker === undefined) return undefined;",
    },
  },
  {
    name: "starts while its former life is removed",
    promise: "what a running pod stands on stays",
    edit: {
      file: startGate,
      from: 'if (pod.isBeingRemoved) return { kind: "removal" };',
      to: "",
    },
  },
  {
    name: "never asks again",
    promise: "a pod that waits for nothing starts",
    edit: {
      file: "src/engine/pods/pod-workers.ts",
      from: "if (worker.waitsFor === undefined) this.#wake(worker);",
      to: "",
    },
  },
  {
    name: "leaves sandboxes of late calls running",
    promise: "a pod has one sandbox",
    sabotage: withRuntime((runtime) => ({
      stopPodSandbox: async (id, signal) => {
        const containers = await runtime.listContainers({ podSandboxId: id }, signal);
        if (containers.length > 0) await runtime.stopPodSandbox(id, signal);
      },
    })),
  },
  {
    name: "keeps containers of late calls",
    promise: "what was never started and has a successor goes",
    sabotage: withRuntime((runtime) => ({
      removeContainer: async (id, signal) => {
        const { status } = await runtime.containerStatus(id, signal);
        if (status?.state === ContainerState.CONTAINER_CREATED) return;
        await runtime.removeContainer(id, signal);
      },
    })),
  },
  {
    name: "unstages devices without unpublishing them",
    promise: "a device is unstaged after it was unpublished for all pods",
    sabotage: withCsi(() => ({ unpublishVolume: () => Promise.resolve() })),
  },
  {
    name: "reports volumes away that are staged",
    promise: "a volume is reported as in use from before it is staged until it is unstaged",
    edit: {
      file: "src/engine/volumes/volume-states.ts",
      from: "[...new Set([...this.#wantedAttachable(), ...present])]",
      to: "[...new Set([...this.#wantedAttachable(), ...present.slice(0, 0)])]",
    },
  },
  {
    name: "starts containers without their volumes",
    promise: "volumes are there before the containers that use them",
    sabotage: withCsi(() => ({ publishVolume: () => Promise.resolve() })),
  },
  {
    name: "takes volumes away from containers",
    promise: "volumes stay as long as the containers that use them run",
    edit: {
      file: "src/engine/volumes/volume-resolver.ts",
      from: "const hasEnded = isRemoved || isStopped;",
      to: "const hasEnded = isRemoved || workerStates.shouldPodContainersBeTerminating(uid);",
    },
  },
  {
    name: "overlooks what past agents mounted",
    promise: "nothing is published or staged that no pod wants",
    edit: {
      file: "src/engine/volumes/found-volumes.ts",
      from: "for (const found of await this.#list()) {",
      to: "for (const found of (await this.#list()).slice(0, 0)) {",
    },
  },
  {
    name: "takes claims for grown whose volumes are not",
    promise: "a claim is not larger than its volume",
    sabotage: withCsi(() => ({ expandVolume: () => Promise.resolve({ capacityBytes: 0n }) })),
  },
  {
    name: "never grows volumes",
    promise: "a volume that was made larger grows under the pods that use it",
    edit: {
      file: "src/core/storage/volume-state.ts",
      from: "return compareQuantity(wanted, size) > 0 ? size : undefined;",
      to: "return compareQuantity(wanted, size) > 9 ? size : undefined;",
    },
  },
  {
    name: "gives devices to several containers",
    promise: "no device is held by two running containers",
    withDevices: true,
    edit: {
      file: "src/core/devices/plugin/choose-devices.ts",
      from: "(id) => !inUse(resource).has(id),",
      to: "() => true,",
    },
  },
  {
    name: "forgets who has which CPUs",
    promise: "a container that restarts gets exactly what it had",
    withDevices: true,
    sabotage: withFiles("files", (files) => ({
      readText: async (path) =>
        path.endsWith("/cpu_manager_state") ? undefined : await files.readText(path),
    })),
  },
  {
    name: "loses CPUs",
    promise: "what no running container holds can be handed out again",
    withDevices: true,
    edit: {
      file: "src/core/devices/cpu/cpu-manager.ts",
      from: "this.#state = { ...state, shared: unionCpus(state.shared, released) };",
      to: "this.#state = released.length > 0 ? state : this.#state;",
    },
  },
  {
    name: "makes sandboxes before claims are prepared",
    promise: "claims are prepared before the sandboxes of the pods that use them",
    withDevices: true,
    edit: {
      file: "src/engine/pods/stages/claims-stage.ts",
      from: "if (!claimResources.concerns(pod)) return;",
      to: "if (claimResources.concerns(pod)) return;",
    },
  },
];

type Runtime = AgentPorts["runtime"];
type FilePort = "files" | "payloadFiles" | "foreignFiles" | "mounts";
type Sabotage = (ports: AgentPorts) => AgentPorts;

function withRuntime(methods: (runtime: Runtime) => Partial<Runtime>): Sabotage {
  return (ports) => {
    const { runtime } = ports;
    return { ...ports, runtime: altered(runtime, methods(runtime)) };
  };
}

function withFiles<Name extends FilePort>(
  name: Name,
  methods: (port: AgentPorts[Name]) => Partial<AgentPorts[Name]>,
): Sabotage {
  return (ports) => {
    const port = ports[name];
    return { ...ports, [name]: altered(port, methods(port)) };
  };
}

function withCsi(methods: () => Partial<CsiNodeClient>): Sabotage {
  return (ports) => {
    const { csiDrivers } = ports;
    const connect = (endpoint: string): CsiNodeClient =>
      altered(csiDrivers.connect(endpoint), methods());
    return { ...ports, csiDrivers: { connect } };
  };
}

function withCgroups(methods: Partial<Cgroups>): Sabotage {
  return (ports) => {
    return { ...ports, hostCgroups: altered(ports.hostCgroups, methods) };
  };
}

/** Trees with that in their path stay. */
function withoutRemoval(part: string): Sabotage {
  return withFiles("foreignFiles", (foreignFiles) => ({
    removeTree: (path, signal) =>
      path.includes(part) ? Promise.resolve() : foreignFiles.removeTree(path, signal),
  }));
}

/** The same object with other methods. */
function altered<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get: (object, name) => {
      const source = Object.hasOwn(methods, name) ? methods : object;
      const value: unknown = Reflect.get(source, name, source);
      return typeof value === "function" ? value.bind(source) : value;
    },
  });
}
