import { setMaxListeners } from "node:events";
import {
  createSimMachine,
  type SimMachine,
  simPorts,
  simSettings,
} from "../../../src/app/sim-agent.ts";
import { VirtualClock } from "../../../src/drivers/sim/virtual-clock.ts";
import { Agent } from "../../../src/engine/agent.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { Log } from "../../../src/ports/log.ts";
import type { RuntimeEvent } from "../../../src/ports/runtime-events.ts";
import { noMetrics } from "../../kit/no-metrics.ts";
import { Dice } from "./dice.ts";
import { Invariants, Violation } from "./invariants.ts";
import { Life } from "./life.ts";
import { ManifestSource } from "./manifest-source.ts";
import { observed } from "./observed-calls.ts";
import { RuntimeFaults } from "./runtime-faults.ts";

export const simNodeName = "sim-node";

/** Short, so that a run need not be long to see its end. */
const shortCrashLoop = { initialMs: 1000, maxMs: 10_000 };

/** The whole agent on a simulated machine, with one seed that decides all that happens. */
export class Simulation {
  readonly clock: VirtualClock = new VirtualClock();
  readonly dice: Dice;
  readonly machine: SimMachine;
  readonly manifests: ManifestSource = new ManifestSource(simNodeName);
  readonly invariants: Invariants;
  readonly faults: RuntimeFaults;
  /** What happened, for people; newest last. */
  readonly trace: string[] = [];
  /** How likely an agent is to be killed at any of its answers. */
  crashRate = 0;
  /** How likely an event of the runtime is to be lost, told twice, or told late. */
  eventFaultRate = 0;
  #violation: Violation | undefined;
  #life: { readonly life: Life; readonly agent: Agent; readonly stop: AbortController } | undefined;
  #restartAtMs: number | undefined;
  lives = 0;

  constructor(seed: number) {
    this.dice = new Dice(seed);
    const eventDice = this.dice.split();
    this.machine = createSimMachine(this.clock, (event, events) => {
      this.#check(() => this.invariants.noteEvent(event));
      this.#passOn(event, eventDice, (each) => events.tell(each));
    });
    for (const image of ["app:1", "tools:1"]) this.machine.runtime.addImage(image);
    this.invariants = new Invariants(this.machine.runtime);
    this.faults = new RuntimeFaults(this.dice.split(), this.clock);
    this.machine.runtime.intercept = this.faults.intercept;
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

  fail(message: string): void {
    this.#violation ??= new Violation(message);
  }

  startAgent(): void {
    const dice = this.dice.split();
    const life = new Life(() => {
      if (dice.chance(this.crashRate)) this.killAgent("at an answer");
    });
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const runtime = observed(this.machine.runtime, ({ method, args }) => {
      if (!life.isOver && /^(run|stop|remove|create|start|update|exec)/.test(method)) {
        this.note(`${method} ${describe(args)}`);
      }
    });
    const ports = simPorts(
      { ...this.machine, runtime },
      {
        sources: [this.manifests],
        random: dice.next,
        log: this.#log(),
        metrics: noMetrics,
        api: undefined,
      },
    );
    const agent = new Agent(
      life.bind(ports),
      { ...simSettings(simNodeName), crashLoop: shortCrashLoop },
      stop.signal,
    );
    agent.view.watchPods(({ type, pod }) => {
      if (life.isOver) return;
      this.note(`${type} ${pod.metadata.name} ${pod.status?.phase}`);
      if (type !== "DELETED") this.#check(() => this.invariants.noteStatus(pod));
    }, stop.signal);
    this.lives += 1;
    this.note(`agent ${this.lives} starts`);
    this.#life = { life, agent, stop };
    agent.run().catch((error: unknown) => {
      if (!life.isOver) this.fail(`the agent ended: ${String(error)}`);
    });
  }

  /** As SIGKILL: nothing is cleaned up. It starts again after some seconds, unless told otherwise. */
  killAgent(why: string, restartInMs: number = this.dice.between(0, 20_000)): void {
    if (this.#life === undefined) return;
    this.note(`agent killed ${why}`);
    this.#life.life.end();
    this.#life = undefined;
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

  shownPods(): readonly Pod[] {
    return this.#life?.agent.view.listPods() ?? [];
  }

  #check(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#violation ??= error instanceof Violation ? error : new Violation(String(error));
    }
  }

  #passOn(event: RuntimeEvent, dice: Dice, tell: (event: RuntimeEvent) => void): void {
    if (!dice.chance(this.eventFaultRate)) {
      tell(event);
      return;
    }
    const fault = dice.pick(["lost", "twice", "late"]);
    if (fault === "twice") {
      tell(event);
      tell(event);
    }
    if (fault === "late") {
      const signal = new AbortController().signal;
      void this.clock.sleep(dice.between(10, 5000), signal).then(() => tell(event));
    }
  }

  #log(): Log {
    const note = (level: string) => (message: string, fields?: object) =>
      this.note(`${level}: ${message} ${fields === undefined ? "" : JSON.stringify(fields)}`);
    return { debug: () => undefined, info: note("info"), warn: note("warn"), error: note("error") };
  }
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
