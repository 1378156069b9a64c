import { isSidecar, type Pod } from "../../model/pod.ts";

/**
 * For each running container the running containers that must end before it is stopped: a sidecar waits for
 * all regular containers and for the sidecar after it; the others wait for nothing.
 */
export function terminationOrder(
  pod: Pod,
  runningNames: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const running = new Set(runningNames);
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const regular = pod.spec.containers.map(({ name }) => name);
  return new Map(
    [...running].map((name) => {
      const place = sidecars.indexOf(name);
      const earlier = place < 0 ? [] : [...regular, ...sidecars.slice(place + 1, place + 2)];
      return [name, earlier.filter((other) => running.has(other))];
    }),
  );
}
