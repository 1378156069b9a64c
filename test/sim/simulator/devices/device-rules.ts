import type { SimContainer } from "../../../../src/drivers/sim/sim-container.ts";
import { type CpuSet, intersectCpus, parseCpuSet } from "../../../../src/model/cpu-set.ts";
import type { Container } from "../../../../src/model/generated/kubernetes.ts";
import { containerNameLabel } from "../../../../src/model/labels.ts";
import type { Pod } from "../../../../src/model/pod.ts";
import { type Invariants, label } from "../invariants.ts";
import { Violation } from "../violation.ts";
import {
  cdiDevice,
  devicePaths,
  resourceClaims,
  type SimResourceClaim,
  simResources,
} from "./device-objects.ts";
import type { DraCall, SimDraDriver } from "./sim-dra-driver.ts";

export interface DeviceRulesDeps {
  readonly invariants: Invariants;
  /** Whether an agent started the container and learned so. */
  readonly isKnown: (containerId: string) => boolean;
  readonly drivers: readonly SimDraDriver[];
}

/** What a container has for itself, as the runtime was given it. */
interface Holding {
  readonly devices: readonly string[];
  /** Of its own; none for a container that shares CPUs with others. */
  readonly cpus: CpuSet;
}

/**
 * No device and no exclusive CPU is held by two running containers; a container has as many as it asks for, and the same after
 * each restart; claims are prepared before the sandboxes of the pods that use them, and stay so while their containers run.
 */
export class DeviceRules {
  readonly #deps: DeviceRulesDeps;
  /** By pod and name: what a container had when it was last started. */
  readonly #before = new Map<string, Holding>();

  constructor(deps: DeviceRulesDeps) {
    this.#deps = deps;
  }

  /** A container was started by an agent that waits for it. */
  noteStart(container: SimContainer): void {
    const pod = this.#deps.invariants.podOf(container);
    if (pod === undefined) return;
    const what = `${label(container, containerNameLabel)} of ${pod.metadata.name}`;
    const holding = holdingOf(pod, container);
    this.#checkOthers(container, holding, what);
    this.#checkAmounts(pod, container, holding, what);
    this.#checkBefore(pod, container, holding, what);
    this.#checkClaims(pod, container, what);
  }

  /** A sandbox of the pod was started by an agent that waits for it. */
  noteSandbox(pod: Pod): void {
    for (const claim of claimsOf(pod)) {
      const driver = this.#unpreparedBy(claim);
      if (driver === undefined) continue;
      const { name } = pod.metadata;
      throw new Violation(`${name} got a sandbox before ${driver} had prepared ${claim.name}`);
    }
  }

  /** An agent changes what a container that runs may use. */
  noteUpdate(containerId: string, cpuset: string): void {
    const container = this.#deps.invariants.find(containerId);
    const pod = container && this.#deps.invariants.podOf(container);
    if (container === undefined || pod === undefined || cpuset === "") return;
    const { cpus } = holdingOf(pod, container);
    if (cpus.length === 0) return;
    const what = `${label(container, containerNameLabel)} of ${pod.metadata.name}`;
    const given = cpusOf(cpuset);
    if (given.join() !== cpus.join()) {
      throw new Violation(`${what} had the CPUs ${cpus.join()} and gets ${given.join()}`);
    }
  }

  /** An agent asks a driver for something. */
  noteCall({ kind, claimUid, driver }: DraCall): void {
    if (kind === "prepare") return;
    const { invariants, isKnown } = this.#deps;
    for (const container of invariants.running) {
      const pod = invariants.podOf(container);
      if (pod === undefined || !isKnown(container.place.id)) continue;
      if (claimsOf(pod).every(({ uid }) => uid !== claimUid)) continue;
      const name = label(container, containerNameLabel);
      throw new Violation(
        `${driver} is to unprepare ${claimUid} while ${name} of ${pod.metadata.name} runs`,
      );
    }
  }

  /** Containers that share CPUs with one that has them for itself. As with a kubelet, those added to running pods stay where they are. */
  sharers(): readonly string[] {
    const { invariants } = this.#deps;
    const running = invariants.running.flatMap((container) => {
      const pod = invariants.podOf(container);
      if (pod === undefined) return [];
      const isAdded = specOf(pod, container) === undefined;
      return [{ container, own: holdingOf(pod, container).cpus, isAdded }];
    });
    const own = new Set(running.flatMap((each) => each.own));
    return running
      .filter((each) => each.own.length === 0 && !each.isAdded)
      .filter(({ container }) => assignedCpus(container).some((cpu) => own.has(cpu)))
      .map(({ container }) => `${container.place.id} runs on CPUs that another has for itself`);
  }

  #checkOthers(container: SimContainer, holding: Holding, what: string): void {
    const { invariants, isKnown } = this.#deps;
    for (const other of invariants.running) {
      const pod = invariants.podOf(other);
      if (other === container || pod === undefined || !isKnown(other.place.id)) continue;
      const { devices, cpus } = holdingOf(pod, other);
      const device = holding.devices.find((each) => devices.includes(each));
      const [cpu] = intersectCpus(holding.cpus, cpus);
      if (device === undefined && cpu === undefined) continue;
      const name = `${label(other, containerNameLabel)} of ${pod.metadata.name}`;
      throw new Violation(`${what} and ${name} both have ${device ?? `the CPU ${cpu}`}`);
    }
  }

  #checkAmounts(pod: Pod, container: SimContainer, holding: Holding, what: string): void {
    const spec = specOf(pod, container);
    const wanted = spec === undefined ? 0 : ownCpuCount(pod, spec);
    if (holding.cpus.length !== wanted) {
      throw new Violation(`${what} has the CPUs ${holding.cpus.join()} instead of ${wanted}`);
    }
    for (const { name, devices } of simResources) {
      const held = devices.filter(({ id }) => holding.devices.includes(`${devicePaths}${id}`));
      const count = Number(spec?.resources?.limits?.[name] ?? 0);
      // As with a kubelet, a resource that the node did not have when the pod was admitted is not its business.
      if (held.length === 0 || held.length === count) continue;
      throw new Violation(`${what} has ${held.length} instead of ${count} of ${name}`);
    }
  }

  #checkBefore(pod: Pod, container: SimContainer, holding: Holding, what: string): void {
    const { uid } = pod.metadata;
    // What a former life of the pod had is another pod's by now.
    if (this.#deps.invariants.shown.isReborn(uid)) return;
    const key = `${uid} ${label(container, containerNameLabel)}`;
    const before = this.#before.get(key);
    this.#before.set(key, holding);
    if (before === undefined) return;
    const isSame =
      before.cpus.join() === holding.cpus.join() &&
      (before.devices.length === 0 || before.devices.join() === holding.devices.join());
    if (!isSame) {
      throw new Violation(`${what} had ${textOf(before)} and is restarted with ${textOf(holding)}`);
    }
  }

  #checkClaims(pod: Pod, container: SimContainer, what: string): void {
    const entries = specOf(pod, container)?.resources?.claims ?? [];
    const used = claimsOf(pod).filter(({ name }) => entries.some((each) => each.name === name));
    for (const claim of used) {
      const driver = this.#unpreparedBy(claim);
      if (driver !== undefined) {
        throw new Violation(`${what} started before ${driver} had prepared ${claim.name}`);
      }
      for (const each of claim.drivers) {
        const name = cdiDevice(each, claim.name);
        const isGiven = container.config.CDIDevices?.some((device) => device.name === name);
        if (isGiven !== true) throw new Violation(`${what} started without ${name}`);
      }
    }
  }

  #unpreparedBy({ drivers, uid }: SimResourceClaim): string | undefined {
    const own = this.#deps.drivers.filter(({ name }) => drivers.includes(name));
    return own.find(({ prepared }) => !prepared.has(uid))?.name;
  }
}

function claimsOf(pod: Pod): readonly SimResourceClaim[] {
  const names = (pod.spec.resourceClaims ?? []).map((each) => each.resourceClaimName);
  return resourceClaims.filter(({ name }) => names.includes(name));
}

function holdingOf(pod: Pod, container: SimContainer): Holding {
  const paths = (container.config.devices ?? []).map(({ hostPath = "" }) => hostPath);
  const devices = paths.filter((path) => path.startsWith(devicePaths)).toSorted();
  const spec = specOf(pod, container);
  const isExclusive = spec !== undefined && ownCpuCount(pod, spec) > 0;
  return { devices, cpus: isExclusive ? assignedCpus(container) : [] };
}

function assignedCpus({ resources }: SimContainer): CpuSet {
  return cpusOf(resources?.cpusetCpus ?? "");
}

function cpusOf(text: string): CpuSet {
  const cpus = parseCpuSet(text);
  if (!cpus.ok) throw new Violation(`${text} is not a list of CPUs: ${cpus.error}`);
  return cpus.value;
}

function specOf({ spec }: Pod, container: SimContainer): Container | undefined {
  const name = label(container, containerNameLabel);
  return [...(spec.initContainers ?? []), ...spec.containers].find((each) => each.name === name);
}

/** Of a Guaranteed pod, a container that asks for whole CPUs has them for itself. */
function ownCpuCount({ spec }: Pod, container: Container): number {
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  const isGuaranteed = all.every(({ resources: { requests = {}, limits = {} } = {} }) =>
    ["cpu", "memory"].every(
      (name) => limits[name] !== undefined && requests[name] === limits[name],
    ),
  );
  const cpu = container.resources?.requests?.["cpu"] ?? "";
  return isGuaranteed && /^\d+$/.test(cpu) ? Number(cpu) : 0;
}

function textOf({ devices, cpus }: Holding): string {
  return `[${[...devices, ...cpus].join(" ")}]`;
}
