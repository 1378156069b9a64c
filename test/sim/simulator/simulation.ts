import { setMaxListeners } from "node:events";
import { type SimMachine, simPorts, simSettings } from "../../../src/app/sim-agent.ts";
import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import type { AgentSettings } from "../../../src/engine/agent/agent-settings.ts";
import { Agent } from "../../../src/engine/agent.ts";
import type { UpdateContainerResourcesRequest } from "../../../src/model/generated/cri.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { Log } from "../../../src/ports/log.ts";
import type { RuntimeEvent } from "../../../src/ports/runtime-events.ts";
import { MemoryPluginSockets } from "../../kit/memory-plugin-sockets.ts";
import { noMetrics } from "../../kit/no-metrics.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { ApiWorld } from "./api-world.ts";
import { CallBounds } from "./call-bounds.ts";
import { DeviceWorld } from "./devices/device-world.ts";
import { Dice } from "./dice.ts";
import { Invariants } from "./invariants.ts";
import { Life } from "./life.ts";
import { MachineFaults } from "./machine-faults.ts";
import { ManifestSource } from "./manifest-source.ts";
import { type ObservedCall, observed } from "./observed-calls.ts";
import { RemovalRules } from "./removal-rules.ts";
import { RuntimeFaults } from "./runtime-faults.ts";
import { createSimMachine } from "./sim-machine.ts";
import { StatusHistory } from "./status-history.ts";
import { StorageWorld } from "./storage/storage-world.ts";
import { TerminationRules } from "./termination-rules.ts";
import { Violation } from "./violation.ts";

// A simulated world waits for many things at once.
setMaxListeners(0);

const mirrorAnnotation = "kubernetes.io/config.mirror";

const simNodeName = "sim-node";
const settings = simSettings(simNodeName);

/** No more calls of the runtime than this within some seconds: an agent that makes more spins. */
const spinCalls = 3_000;
const spinWindowMs = 5_000;

/** Shorter than the runtime takes to remove a sandbox. */
const removalStepMs = 20;

/** The disk of each node of so many is slow. */
const slowDiskEvery = 5;

/** Short, so that a run need not be long to see its end. */
const shortCrashLoop = { initialMs: 1000, maxMs: 10_000 };

export interface SimulationOptions {
  readonly inCluster?: boolean | undefined;
  /** There are CSI drivers, claims and persistent volumes. */
  readonly hasStorage?: boolean | undefined;
  /** There are device plugins, DRA drivers, claims of devices, and CPUs for one container alone. */
  readonly hasDevices?: boolean | undefined;
  /** Breaks the agent on purpose. */
  readonly sabotage?: ((ports: AgentPorts) => AgentPorts) | undefined;
}

/** The whole agent on a simulated machine, with one seed that decides all that happens. */
export class Simulation {
  readonly clock: VirtualClock = new VirtualClock();
  readonly dice: Dice;
  readonly machine: SimMachine;
  readonly manifests: ManifestSource;
  readonly invariants: Invariants;
  readonly faults: RuntimeFaults;
  readonly machineFaults: MachineFaults;
  /** What happened, for people; newest last. */
  readonly trace: string[] = [];
  /** Where in the trace something was done from outside. */
  readonly deeds: number[] = [];
  /** How likely an agent is to be killed at any of its answers. */
  crashRate = 0;
  /** How likely an event of the runtime is to be lost, doubled, or late. */
  eventFaultRate = 0;
  #violation: Violation | undefined;
  #life:
    | {
        readonly life: Life;
        readonly agent: Agent;
        readonly stop: AbortController;
        readonly calls: CallBounds;
      }
    | undefined;
  #restartAtMs: number | undefined;
  lives = 0;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: ApiWorld | undefined;
  readonly storage: StorageWorld | undefined;
  readonly devices: DeviceWorld | undefined;
  /** Calls that change something in the runtime, as agents made them. */
  readonly changes: string[] = [];
  readonly #termination: TerminationRules;
  readonly #removals: RemovalRules;
  readonly #apiHistory: StatusHistory;
  readonly #sabotage: (ports: AgentPorts) => AgentPorts;
  /** The pod of which the removal of a sandbox is waited for. */
  #awaitedRemoval: string | undefined;
  #calls = 0;
  #callsSinceMs = 0;

  constructor(seed: number, options: SimulationOptions = {}) {
    this.#sabotage = options.sabotage ?? ((ports) => ports);
    this.dice = new Dice(seed);
    const eventDice = this.dice.split();
    this.machine = createSimMachine(this.clock, (event, events) => {
      this.#check(() => this.#noteEvent(event));
      this.#passOn(event, eventDice, (each) => events.emit(each));
    });
    for (const image of ["app:1", "tools:1"]) this.machine.runtime.addImage(image);
    this.invariants = new Invariants(this.machine.runtime);
    this.faults = new RuntimeFaults(this.dice.split(), this.clock);
    this.#termination = new TerminationRules(this.invariants, {
      nowMs: () => this.clock.monotonicMs(),
      isFaultlessSince: (sinceMs) => this.faults.isFaultlessSince(sinceMs),
    });
    this.#removals = new RemovalRules(this.invariants, this.machine);
    const hasSlowDisk = seed % slowDiskEvery === 0;
    this.machineFaults = new MachineFaults(this.dice.split(), this.clock, hasSlowDisk);
    this.machine.runtime.intercept = this.faults.intercept;
    this.#apiHistory = new StatusHistory("the API server", (pod) =>
      this.invariants.namesOf(pod.metadata.annotations?.[mirrorAnnotation] ?? pod.metadata.uid),
    );
    const apiDice = this.dice.split();
    const sockets = new MemoryPluginSockets();
    this.storage = options.hasStorage === true ? this.#createStorage(sockets) : undefined;
    this.devices = options.hasDevices === true ? this.#createDevices(sockets) : undefined;
    const { storage, devices } = this;
    const besides = options.inCluster === true ? undefined : storage?.manifests;
    this.manifests = new ManifestSource(simNodeName, besides);
    if (options.inCluster !== true) return;
    this.cluster = new ApiWorld(
      { clock: this.clock, dice: apiDice, nodeName: simNodeName, storage, devices },
      (type, pod, isForced) => this.#check(() => this.#noteApiPod(type, pod, isForced)),
    );
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  get agent(): Agent | undefined {
    return this.#life?.agent;
  }

  note(text: string): void {
    const seconds = (this.clock.monotonicMs() / 1000).toFixed(3);
    this.trace.push(`${seconds.padStart(10)} ${text}`);
  }

  /** Something was done to the node or its surroundings. */
  did(text: string): void {
    this.deeds.push(this.trace.length);
    this.note(`* ${text}`);
  }

  fail(message: string): void {
    this.#violation ??= new Violation(message);
  }

  startAgent(): void {
    const dice = this.dice.split();
    const calls = new CallBounds({
      nowMs: () => this.clock.monotonicMs(),
      ownerOf: (id) => this.machine.runtime.ownerOf(id),
      onRemoval: (...call) => this.#noteRemoval(...call),
      fail: (message) => this.fail(message),
    });
    const life = new Life(calls, () => {
      if (dice.chance(this.crashRate)) this.killAgent("at an answer");
    });
    const stop = new AbortController();
    if (this.machineFaults.takeLostStatus()) this.invariants.shown.forgetAll();
    this.lives += 1;
    const runtime = observed(this.machine.runtime, (call) => {
      if (!life.isOver) this.#check(() => this.#noteCall(call));
    });
    const ports = simPorts(
      { ...this.machine, runtime },
      {
        podSources: [this.manifests],
        random: dice.next,
        log: this.#log(),
        metrics: noMetrics,
        apiServer: this.cluster && { api: this.cluster.client },
      },
    );
    const stored = this.storage?.bind(ports) ?? ports;
    const equipped = this.devices?.bind(stored) ?? stored;
    const faulty = this.machineFaults.bind(this.#sabotage(equipped));
    const agent = new Agent(life.bind(faulty), this.#settings(), stop.signal);
    agent.view.watchPods(({ type, pod }) => {
      if (life.isOver) return;
      this.note(`${type} ${pod.metadata.uid.slice(0, 4)} ${outline(pod)}`);
      if (type === "ADDED") this.#termination.noteBeginning(pod.metadata.uid);
      if (pod.metadata.deletionTimestamp !== undefined) {
        this.#termination.noteDeletion(pod.metadata.uid);
      }
      if (type === "DELETED") this.invariants.shown.forget(pod.metadata.uid);
      else this.#check(() => this.invariants.shown.note(pod));
    }, stop.signal);
    this.note(`agent ${this.lives} starts`);
    this.#life = { life, agent, stop, calls };
    agent.run().catch((error: unknown) => {
      if (life.isOver) return;
      // Where files fail an agent may end; its service manager starts it again.
      if (this.machineFaults.rate > 0) this.killAgent(`by itself: ${String(error)}`);
      else this.fail(`the agent ended: ${String(error)}`);
    });
  }

  /** As SIGKILL: nothing is cleaned up. It starts again after some seconds by default. */
  killAgent(why: string, restartInMs: number = this.dice.between(0, 20_000)): void {
    if (this.#life === undefined) return;
    this.did(`agent killed ${why}`);
    this.#life.life.end();
    this.#life = undefined;
    this.#termination.noteAgentDeath();
    this.faults.dropCalls();
    this.#restartAtMs = this.clock.monotonicMs() + restartInMs;
  }

  /** Moves time on; a killed agent comes back on the way. Ends early at a violation. */
  async advance(ms: number): Promise<void> {
    const endMs = this.clock.monotonicMs() + ms;
    while (this.#violation === undefined && this.clock.monotonicMs() < endMs) {
      if (this.#restartAtMs !== undefined && this.#restartAtMs <= this.clock.monotonicMs()) {
        this.#restartAtMs = undefined;
        this.startAgent();
      }
      const nextMs = Math.min(endMs, this.#restartAtMs ?? endMs, this.clock.monotonicMs() + 1000);
      await this.clock.advance(Math.max(1, nextMs - this.clock.monotonicMs()));
    }
  }

  /** Moves time on until the agent removes a sandbox of the pod, but not further than given. */
  async advanceToRemoval(uid: string, mostMs: number): Promise<void> {
    const endMs = this.clock.monotonicMs() + mostMs;
    this.#awaitedRemoval = uid;
    while (this.#awaitedRemoval === uid && this.clock.monotonicMs() < endMs) {
      if (this.#violation !== undefined) break;
      await this.advance(removalStepMs);
    }
    this.#awaitedRemoval = undefined;
  }

  /** What the agent has asked of the world for pods and has no answer to. */
  openCalls(): readonly string[] {
    return this.#life?.calls.open ?? [];
  }

  shownPods(): readonly Pod[] {
    return this.#life?.agent.view.listPods() ?? [];
  }

  #createStorage(sockets: MemoryPluginSockets): StorageWorld {
    return new StorageWorld({ ...this.#worldDeps(sockets), nodeName: simNodeName });
  }

  #createDevices(sockets: MemoryPluginSockets): DeviceWorld {
    return new DeviceWorld(this.#worldDeps(sockets));
  }

  #worldDeps(sockets: MemoryPluginSockets): ConstructorParameters<typeof DeviceWorld>[0] {
    return {
      machine: this.machine,
      dice: this.dice.split(),
      sockets,
      invariants: this.invariants,
      isKnown: (id) => this.#removals.isKnown(id),
      check: (work) => this.#check(work),
      note: (text) => this.note(text),
    };
  }

  #settings(): AgentSettings {
    const { node, pods } = settings;
    const isInCluster = this.cluster !== undefined;
    const registration = {
      ...node.registration,
      registerNode: isInCluster,
      enableControllerAttachDetach: isInCluster,
    };
    const own = {
      ...settings,
      node: { ...node, registration },
      pods: { ...pods, crashLoop: shortCrashLoop },
    };
    return this.devices?.settings(own) ?? own;
  }

  #noteRemoval(uid: string, method: string, subject: unknown): void {
    this.#check(() => this.#removals.noteRemoval(uid, method, subject));
    if (method === "removePodSandbox" && uid === this.#awaitedRemoval) {
      this.#awaitedRemoval = undefined;
    }
  }

  #noteCall(call: ObservedCall): void {
    this.#countCall();
    if (!/^(run|stop|remove|create|start|update|exec)/.test(call.method)) return;
    const text = `${call.method} ${describe(call.args)}`;
    this.note(text);
    if (call.method !== "execSync" && !this.#isIdleUpdate(call)) this.changes.push(text);
    if (call.method === "removeContainer") this.invariants.noteRemoval(String(call.args[0]));
    if (call.method === "updateContainerResources")
      this.#noteUpdate(call.args[0] as UpdateContainerResourcesRequest);
    this.#termination.noteCall(call);
  }

  /** As a kubelet, an agent gives all containers their CPUs again when it starts. */
  #isIdleUpdate({ method, args }: ObservedCall): boolean {
    if (method !== "updateContainerResources") return false;
    const { containerId = "", linux = {} } = args[0] as UpdateContainerResourcesRequest;
    const { resources } = this.invariants.find(containerId) ?? {};
    return Object.entries(linux).every(
      ([name, value]) => Reflect.get(resources ?? {}, name) === value,
    );
  }

  #noteUpdate(request: UpdateContainerResourcesRequest): void {
    this.devices?.rules.noteUpdate(request.containerId ?? "", request.linux?.cpusetCpus ?? "");
  }

  #countCall(): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#callsSinceMs > spinWindowMs) {
      this.#callsSinceMs = nowMs;
      this.#calls = 0;
    }
    this.#calls += 1;
    if (this.#calls > spinCalls) throw new Violation(`the agent spins: ${this.#calls} calls`);
  }

  #noteEvent(event: RuntimeEvent): void {
    this.note(`${event.containerId.replace(/0+$/, "")} ${event.kind}`);
    this.invariants.noteEvent(event);
    if (event.kind === "stopped") this.#termination.noteEnd(event.containerId);
    if (event.kind === "started" && this.#isWaitedFor(event.containerId)) {
      this.#removals.noteStart(event.containerId);
      const container = this.invariants.find(event.containerId);
      if (container !== undefined) {
        this.storage?.rules.noteStart(container);
        this.devices?.rules.noteStart(container);
      } else this.#noteSandbox(event.containerId);
    }
  }

  #noteSandbox(id: string): void {
    const pod = this.invariants.podWith(this.machine.runtime.ownerOf(id) ?? "");
    if (pod !== undefined) this.devices?.rules.noteSandbox(pod);
  }

  /** Whether the agent that lives waits for the start of that container or sandbox. */
  #isWaitedFor(containerId: string): boolean {
    const uid = this.machine.runtime.ownerOf(containerId) ?? "";
    const isSandbox = this.invariants.find(containerId) === undefined;
    const call = isSandbox ? "runPodSandbox " : `startContainer ${containerId}`;
    return this.#life?.calls.isOpen(uid, call) ?? false;
  }

  #noteApiPod(type: "ADDED" | "MODIFIED" | "DELETED", pod: Pod, isForced: boolean): void {
    const { metadata } = pod;
    this.note(`API ${type} ${outline(pod)}`);
    const staticUid = metadata.annotations?.[mirrorAnnotation];
    const isReborn = staticUid !== undefined && this.invariants.shown.isReborn(staticUid);
    if (isForced || isReborn) return;
    if (type !== "DELETED") {
      this.#apiHistory.note(pod);
      return;
    }
    const running = this.invariants.namesOf(metadata.uid);
    if (running.length === 0) return;
    throw new Violation(`${metadata.name} left the API server while ${running.join(", ")} runs`);
  }

  #check(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#violation ??= error instanceof Violation ? error : new Violation(String(error));
    }
  }

  #passOn(event: RuntimeEvent, dice: Dice, emit: (event: RuntimeEvent) => void): void {
    if (!dice.chance(this.eventFaultRate)) {
      emit(event);
      return;
    }
    const fault = dice.pick(["lost", "twice", "late"]);
    if (fault === "twice") {
      emit(event);
      emit(event);
    }
    if (fault === "late") {
      const signal = new AbortController().signal;
      void this.clock.sleep(dice.between(10, 5000), signal).then(() => emit(event));
    }
  }

  #log(): Log {
    const note = (level: string) => (message: string, fields?: object) =>
      this.note(`${level}: ${message} ${fields === undefined ? "" : JSON.stringify(fields)}`);
    return { debug: () => undefined, info: note("info"), warn: note("warn"), error: note("error") };
  }
}

function outline({ metadata, status }: Pod): string {
  const { generation = 0, name } = metadata;
  return `${name} ${status?.phase}, generation ${status?.observedGeneration ?? 0} of ${generation}`;
}

function describe(args: readonly unknown[]): string {
  return args
    .filter((arg) => !(arg instanceof AbortSignal))
    .map((arg) => {
      if (typeof arg === "string") return arg.replace(/0+$/, "");
      if (typeof arg !== "object" || arg === null || !("metadata" in arg)) return "";
      return JSON.stringify(arg.metadata);
    })
    .join(" ");
}
