import {
  type Container,
  ContainerState,
  type PodSandbox,
  PodSandboxState,
} from "../../model/generated/cri.ts";

/** The sandboxes that count: of several with one pod name the ready ones, else the newest. Oldest first. */
export function countedSandboxes(sandboxes: readonly PodSandbox[]): readonly PodSandbox[] {
  const byName = new Map<string, PodSandbox[]>();
  for (const sandbox of sandboxes.toSorted((a, b) => createdOrder(a, b))) {
    const key = `${sandbox.metadata?.namespace}/${sandbox.metadata?.name}`;
    const same = byName.get(key);
    if (same === undefined) byName.set(key, [sandbox]);
    else same.push(sandbox);
  }
  return [...byName.values()].flatMap((same) => {
    if (same.length === 1) return same;
    const ready = same.filter(({ state }) => (state ?? 0) === PodSandboxState.SANDBOX_READY);
    return ready.length > 0 ? ready : same.slice(-1);
  });
}

/** Only what runs uses anything. Oldest first. */
export function countedContainers(containers: readonly Container[]): readonly Container[] {
  return containers
    .filter(({ state }) => state === ContainerState.CONTAINER_RUNNING)
    .toSorted((a, b) => createdOrder(a, b));
}

function createdOrder(
  a: { readonly createdAt?: bigint | undefined },
  b: { readonly createdAt?: bigint | undefined },
): number {
  const difference = (a.createdAt ?? 0n) - (b.createdAt ?? 0n);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The container whose cgroup has this name: the id alone, or in the scope that systemd makes of it. */
export function containerIdOfCgroup(name: string): string {
  if (!name.endsWith(".scope")) return name;
  const unit = name.slice(0, -".scope".length);
  return unit.slice(unit.lastIndexOf("-") + 1);
}
