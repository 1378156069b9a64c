import { renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { seededRandom } from "../../kit/seeded-random.ts";
import type { BerthProcess } from "../support/agent-process.ts";
import type { AgentWorld } from "../support/agent-world.ts";
import { instanceVariable, randomPod, type WantedPod } from "./chaos-pods.ts";
import { podProcesses, variableOf } from "./pod-processes.ts";

const places = 6;
const longestPauseMs = 1500;
const longestAbsenceMs = 3000;
const lookMs = 50;
/** How often one that is still starting is killed: on a slow machine none would ever get to work. */
const shareOfEarlyDeaths = 0.2;

type Action =
  | "write"
  | "write twice"
  | "remove"
  | "rename"
  | "kill agent"
  | "kill containerd"
  | "kill both"
  | "kill process";

/** How often each is done among all. */
const weights: Readonly<Record<Action, number>> = {
  write: 10,
  "write twice": 3,
  remove: 4,
  rename: 2,
  "kill agent": 5,
  "kill containerd": 3,
  "kill both": 2,
  "kill process": 2,
};
const lots = Object.entries(weights).flatMap(([action, weight]) =>
  Array.from({ length: weight }, () => action as Action),
);

/** Random changes of manifests, and random deaths: of the agent, of containerd, of processes in pods. */
export class ChaosRun {
  /** By the names of their files. */
  readonly wanted: Map<string, WantedPod> = new Map();
  /** What was done, and what happened to the agent, with times since the beginning. */
  readonly history: string[] = [];
  /** What agents said that have ended. */
  readonly lastWords: string[] = [];
  readonly #world: AgentWorld;
  readonly #random: () => number;
  /** Of its own: when the agent ends is decided by the machine too. */
  readonly #absences: () => number;
  readonly #startedAtMs = Date.now();
  readonly #stop = new AbortController();
  /** Pods of which a process was killed: with each further one their restarts would only wait longer. */
  readonly #wounded = new Set<string>();
  readonly #supervisor: Promise<void>;
  readonly #watch: NodeJS.Timeout;
  readonly #doubled = new Set<string>();
  #isUp = true;
  #versions = 0;

  constructor(world: AgentWorld, seed: number) {
    this.#world = world;
    this.#random = seededRandom(seed);
    this.#absences = seededRandom(seed + 1);
    this.#supervisor = this.#supervise();
    this.#watch = setInterval(() => this.#lookForDoubles(), lookMs);
  }

  /** Instances of one container, of one pod or of two of one name, that were seen to live at the same time. */
  get doubled(): readonly string[] {
    return [...this.#doubled];
  }

  /** Does random things for that time. */
  async rage(durationMs: number): Promise<void> {
    const endMs = Date.now() + durationMs;
    while (Date.now() < endMs) {
      this.#act(this.#pick(lots) ?? "write");
      await delay(this.#random() ** 2 * longestPauseMs);
    }
    this.#note("calm");
  }

  removeAll(): void {
    for (const file of this.wanted.keys()) this.#world.remove(file);
    this.wanted.clear();
    this.#note("remove all");
  }

  /** From now on the agent is not started again. */
  async close(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#watch);
    await this.#supervisor;
  }

  #act(action: Action): void {
    switch (action) {
      case "write":
        return this.#write(1);
      case "write twice":
        return this.#write(2);
      case "remove":
        return this.#remove();
      case "rename":
        return this.#rename();
      case "kill agent":
        if (!this.#isSpared()) this.#killAgent();
        return;
      case "kill containerd":
        if (!this.#isSpared()) this.#killContainerd();
        return;
      case "kill both":
        if (this.#isSpared()) return;
        this.#killContainerd();
        return this.#killAgent();
      case "kill process":
        return this.#killProcess();
    }
  }

  #write(times: number): void {
    const place = Math.floor(this.#random() * places);
    const [file = `pod${place}-0.json`] = this.#filesOf(place);
    for (let time = 0; time < times; time++) {
      const version = String(++this.#versions);
      const pod = randomPod(place, version, this.#random);
      this.#note(`write ${file}: version ${version}, ${pod.running.join(", ")} (${pod.fate})`);
      this.wanted.set(file, pod);
      this.#world.write(file, pod.manifest);
    }
  }

  #remove(): void {
    const file = this.#pick([...this.wanted.keys()]);
    if (file === undefined) return;
    this.#note(`remove ${file}`);
    this.wanted.delete(file);
    this.#world.remove(file);
  }

  /** The file's name is part of what a static pod is: another pod of the same name. */
  #rename(): void {
    const entry = this.#pick([...this.wanted]);
    if (entry === undefined) return;
    const [file, pod] = entry;
    const [name = ""] = file.split("-");
    const next = `${name}-${++this.#versions}.json`;
    this.#note(`rename ${file} to ${next}`);
    this.wanted.delete(file);
    this.wanted.set(next, pod);
    renameSync(join(this.#world.manifests, file), join(this.#world.manifests, next));
  }

  /** Whether the victim is spared: the agent is not up yet. */
  #isSpared(): boolean {
    return this.#random() > shareOfEarlyDeaths && !this.#isUp;
  }

  #killAgent(): void {
    this.#note(`kill the agent ${this.#world.agent.pid}`);
    void this.#world.agent.stop("SIGKILL");
  }

  #killContainerd(): void {
    try {
      const pid = this.#world.containerdPid();
      this.#note(`kill containerd ${pid}`);
      process.kill(pid, "SIGKILL");
    } catch (error) {
      this.#note(`containerd was not killed: ${String(error)}`);
    }
  }

  #killProcess(): void {
    const found = podProcesses(this.#world.bridge).filter(({ uid }) => !this.#wounded.has(uid));
    const victim = this.#pick(found);
    if (victim === undefined) return;
    this.#note(`kill process ${victim.pid} of ${victim.containerId} in ${victim.uid}`);
    this.#wounded.add(victim.uid);
    try {
      process.kill(victim.pid, "SIGKILL");
    } catch {
      // It has just ended.
    }
  }

  #lookForDoubles(): void {
    const seen = new Map<string, string>();
    for (const { pid, uid, containerId } of podProcesses(this.#world.bridge)) {
      const instance = variableOf(pid, instanceVariable);
      if (instance === undefined) continue;
      const other = seen.get(instance);
      const text = `${containerId} in ${uid}`;
      if (other === undefined) seen.set(instance, text);
      else this.#doubled.add(`${instance}: ${[text, other].toSorted().join(" and ")}`);
    }
  }

  #filesOf(place: number): readonly string[] {
    return [...this.wanted.keys()].filter((file) => file.startsWith(`pod${place}-`));
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random() * list.length)];
  }

  #note(what: string): void {
    this.history.push(`${((Date.now() - this.#startedAtMs) / 1000).toFixed(2)} ${what}`);
  }

  #noteUp({ pid, isRunning }: BerthProcess): void {
    this.#note(`the agent ${pid} is up`);
    this.#isUp = isRunning;
  }

  /** As an init system would: starts the agent again a while after it ended. */
  async #supervise(): Promise<void> {
    const { signal } = this.#stop;
    const stopped = new Promise<undefined>((resolve) => {
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    while (!signal.aborted) {
      const ended = await Promise.race([this.#world.agent.ended, stopped]);
      if (ended === undefined) return;
      this.#isUp = false;
      this.lastWords.push(ended.stderr);
      if (ended.code !== null) this.#note(`the agent ended with ${ended.code}`);
      await Promise.race([delay(this.#absences() ** 3 * longestAbsenceMs), stopped]);
      if (signal.aborted) return;
      // One that is killed before it is up never is.
      this.#world.up().then(
        (agent) => this.#noteUp(agent),
        () => undefined,
      );
    }
  }
}
