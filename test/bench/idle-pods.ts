import { createPods, deletePods } from "./api-pods.ts";
import type { BenchAgent } from "./bench-agent.ts";
import type { BenchWorld } from "./bench-world.ts";

/** Starts pods from wherever this world has them: the API server, else manifests. */
export async function startPods(
  world: BenchWorld,
  agent: BenchAgent,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  if (world.cluster !== undefined) {
    await createPods(world, names);
    return;
  }
  const since = world.watch.mark();
  for (const name of names) agent.putManifest(name);
  await world.watch.until("started", 2 * names.length, since);
}

export async function endPods(
  world: BenchWorld,
  agent: BenchAgent,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  if (world.cluster !== undefined) {
    await deletePods(world, names);
    return;
  }
  const since = world.watch.mark();
  for (const name of names) agent.removeManifest(name);
  await world.watch.until("stopped", 2 * names.length, since);
}
