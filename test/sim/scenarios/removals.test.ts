// Many pods that go at once.
import { expect, test } from "vitest";
import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import { leftovers } from "../simulator/convergence.ts";
import { withMethods } from "../simulator/with-methods.ts";
import { pass, plainPod, quietNode, write } from "./scenario.ts";

type Counts = ReadonlyMap<string, number>;

/** The agent's calls of the world, counted. */
class CountedPorts {
  readonly #counts = new Map<string, number>();

  readonly bind = (ports: AgentPorts): AgentPorts => ({
    ...ports,
    runtime: this.#counted("runtime", ports.runtime),
    files: this.#counted("files", ports.files),
    foreignFiles: this.#counted("foreign", ports.foreignFiles),
    mounts: this.#counted("mounts", ports.mounts),
    hostCgroups: this.#counted("cgroups", ports.hostCgroups),
    metrics: {
      ...ports.metrics,
      set: (name, ...rest) => {
        // Once in every round of housekeeping.
        if (name === "kubelet_orphan_pod_cleaned_volumes") this.#count("housekeeping");
        ports.metrics.set(name, ...rest);
      },
    },
  });

  /** What was counted since the last time. */
  take(): Counts {
    const counts = new Map(this.#counts);
    this.#counts.clear();
    return counts;
  }

  #counted<T extends object>(port: string, target: T): T {
    return withMethods(target, (method, call) => (...args) => {
      this.#count(`${port} ${method}`);
      return call(...args);
    });
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}

/** How often each call was made for each of so many static pods that were removed at once. */
async function callsPerRemovedPod(count: number): Promise<Counts> {
  const ports = new CountedPorts();
  const sim = quietNode({ sabotage: ports.bind });
  const names = Array.from({ length: count }, (_, index) => `pod-${index}`);
  for (const name of names) write(sim, name, plainPod(name, { command: ["serve", "1"] }));
  await pass(sim, 20_000);
  expect(sim.invariants.running).toHaveLength(count);
  ports.take();
  for (const name of names) sim.manifests.remove(name);
  await pass(sim, 20_000);
  expect(await leftovers(sim)).toEqual([]);
  return new Map([...ports.take()].map(([call, calls]) => [call, calls / count]));
}

/** What is asked of each port for one pod that goes, at most. */
const mostCalls: Readonly<Record<string, number>> = {
  runtime: 16.5,
  files: 12.5,
  foreign: 3,
  mounts: 1,
  cgroups: 10.5,
  // Each looks at all pods.
  housekeeping: 0.4,
};

test("what a removal costs does not grow with the number of pods that go at once", async () => {
  const few = await callsPerRemovedPod(20);
  const many = await callsPerRemovedPod(100);
  const growing = [...many].filter(([call, calls]) => calls > (few.get(call) ?? 0) + 0.5);
  expect(growing).toEqual([]);
  for (const [port, most] of Object.entries(mostCalls)) {
    const calls = [...many].filter(([call]) => call.split(" ", 1)[0] === port);
    const sum = calls.reduce((total, [, each]) => total + each, 0);
    expect(sum, `${port}: ${JSON.stringify(calls)}`).toBeLessThanOrEqual(most);
  }
}, 60_000);
