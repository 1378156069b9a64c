import { startTimer } from "../../lib/timers.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import { type DbusConnection, DbusError } from "./dbus-connection.ts";
import type { DbusMessage } from "./dbus-message.ts";
import type { DbusValue } from "./dbus-value.ts";

const manager = {
  destination: "org.freedesktop.systemd1",
  path: "/org/freedesktop/systemd1",
  interface: "org.freedesktop.systemd1.Manager",
};
const unitExists = "org.freedesktop.systemd1.UnitExists";
const noSuchUnit = "org.freedesktop.systemd1.NoSuchUnit";
const jobTimeoutMs = 30_000;
const maxRecentJobs = 16;
const defaultPeriodUs = 100_000;
const noLimit = 2n ** 64n - 1n;
const microsPerSecond = 1_000_000n;
/** Systemd takes quotas in steps of ten milliseconds. */
const quotaStepUs = 10_000n;

export type UnitProperty = readonly [name: string, value: { signature: string; value: DbusValue }];

/** Slices of systemd, as far as pods need them. */
export class SystemdUnits {
  readonly #bus: DbusConnection;
  readonly #waiting = new Map<string, (result: string) => void>();
  /** A job can end before the answer that names it was read. */
  readonly #recentJobs = new Map<string, string>();
  #subscribed: Promise<void> | undefined;

  constructor(bus: DbusConnection) {
    this.#bus = bus;
  }

  /** Starts a slice; one that is there already is left as it is. */
  async startSlice(name: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#subscribe();
    try {
      await this.#runJob("StartTransientUnit", "sa(sv)a(sa(sv))", name, [
        "replace",
        properties,
        [],
      ]);
    } catch (error) {
      if (!(error instanceof DbusError) || error.errorName !== unitExists) throw error;
    }
  }

  /** Stops a slice; absent is fine. */
  async stopSlice(name: string): Promise<void> {
    await this.#subscribe();
    try {
      await this.#runJob("StopUnit", "s", name, ["replace"]);
    } catch (error) {
      if (!(error instanceof DbusError) || error.errorName !== noSuchUnit) throw error;
    }
  }

  /** Until the machine restarts. */
  async setProperties(name: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#bus.call({
      ...manager,
      member: "SetUnitProperties",
      signature: "sba(sv)",
      body: [name, true, properties],
    });
  }

  /** systemd announces jobs only to subscribers. */
  #subscribe(): Promise<void> {
    this.#subscribed ??= this.#listenForJobs();
    return this.#subscribed;
  }

  async #listenForJobs(): Promise<void> {
    const rule = `type='signal',interface='${manager.interface}',member='JobRemoved'`;
    await this.#bus.listen(rule, (signal) => this.#noteJob(signal));
    await this.#bus.call({ ...manager, member: "Subscribe" });
  }

  #noteJob({ member, body = [] }: DbusMessage): void {
    const [, job, , result] = body;
    if (member !== "JobRemoved" || typeof job !== "string" || typeof result !== "string") return;
    const waiting = this.#waiting.get(job);
    if (waiting !== undefined) return waiting(result);
    this.#recentJobs.set(job, result);
    for (const old of [...this.#recentJobs.keys()].slice(0, -maxRecentJobs)) {
      this.#recentJobs.delete(old);
    }
  }

  async #runJob(
    member: string,
    signature: string,
    unit: string,
    more: readonly DbusValue[],
  ): Promise<void> {
    const body = [unit, ...more];
    const [job] = await this.#bus.call({ ...manager, member, signature: `s${signature}`, body });
    if (typeof job !== "string") throw new Error(`systemd answered ${member} without a job`);
    const result = this.#recentJobs.get(job) ?? (await this.#waitForJob(job));
    this.#recentJobs.delete(job);
    if (result !== "done") throw new Error(`systemd ended ${member} ${unit}: ${result}`);
  }

  async #waitForJob(job: string): Promise<string> {
    const ended = new Promise<string>((resolve) => this.#waiting.set(job, resolve));
    const timer = startTimer(jobTimeoutMs, () => this.#waiting.get(job)?.("does not end"));
    try {
      return await ended;
    } finally {
      timer.stop();
      this.#waiting.delete(job);
    }
  }
}

/** What systemd calls files of cgroup v2. */
const memoryProperties = [
  ["memory.min", "MemoryMin"],
  ["memory.low", "MemoryLow"],
] as const;

/** The properties of a new slice of pods. */
export function sliceProperties(
  parent: string | undefined,
  resources: CgroupResources,
  version: 1 | 2,
): readonly UnitProperty[] {
  const accounting = ["MemoryAccounting", "CPUAccounting", "TasksAccounting"];
  const io = version === 1 ? "BlockIOAccounting" : "IOAccounting";
  return [
    text("Description", "Pods of a Kubernetes node"),
    ...(parent === undefined
      ? []
      : [["Wants", { signature: "as", value: [parent] }] satisfies UnitProperty]),
    ...[...accounting, io].map((name) => flag(name, true)),
    flag("DefaultDependencies", false),
    ...resourceProperties(resources, version),
  ];
}

/** What a slice allows, in systemd's words. */
export function resourceProperties(
  resources: CgroupResources,
  version: 1 | 2,
): readonly UnitProperty[] {
  const { cpuShares = 0, cpuQuotaUs = 0, cpuPeriodUs = 0, memoryBytes = 0n, pidsLimit } = resources;
  const { unified = {} } = resources;
  const found: UnitProperty[] = [];
  if (memoryBytes !== 0n) {
    const name = version === 1 ? "MemoryLimit" : "MemoryMax";
    found.push(number(name, memoryBytes < 0n ? noLimit : memoryBytes));
  }
  if (cpuShares !== 0) {
    found.push(
      version === 1
        ? number("CPUShares", BigInt(cpuShares))
        : number("CPUWeight", sharesToWeight(BigInt(cpuShares))),
    );
  }
  // Systemd knows another period than its own only since version 242.
  if (cpuPeriodUs !== 0 && cpuPeriodUs !== defaultPeriodUs) {
    found.push(number("CPUQuotaPeriodUSec", BigInt(cpuPeriodUs)));
  }
  if (cpuQuotaUs !== 0) {
    found.push(
      number("CPUQuotaPerSecUSec", quotaPerSecond(BigInt(cpuQuotaUs), BigInt(cpuPeriodUs))),
    );
  }
  if (pidsLimit !== undefined) {
    found.push(number("TasksMax", pidsLimit > 0 ? BigInt(pidsLimit) : noLimit));
  }
  if (version === 2) {
    for (const [file, name] of memoryProperties) {
      const value = unified[file];
      if (value !== undefined) found.push(number(name, BigInt(value)));
    }
  }
  return found;
}

/** Systemd knows whole percents of a CPU: the quota that it makes of one in between, which is the next higher. */
export function roundedQuota(resources: CgroupResources): CgroupResources {
  const { cpuQuotaUs = 0, cpuPeriodUs = defaultPeriodUs } = resources;
  if (cpuQuotaUs <= 0) return resources;
  const rounded =
    (quotaPerSecond(BigInt(cpuQuotaUs), BigInt(cpuPeriodUs)) * BigInt(cpuPeriodUs)) /
    microsPerSecond;
  return { ...resources, cpuQuotaUs: Math.max(Number(rounded), cpuQuotaUs) };
}

function quotaPerSecond(quotaUs: bigint, periodUs: bigint): bigint {
  if (quotaUs < 0n) return noLimit;
  const perSecond =
    (quotaUs * microsPerSecond) / (periodUs === 0n ? BigInt(defaultPeriodUs) : periodUs);
  return ((perSecond + quotaStepUs - 1n) / quotaStepUs) * quotaStepUs;
}

function sharesToWeight(shares: bigint): bigint {
  return shares >= 262_144n ? 10_000n : 1n + ((shares - 2n) * 9999n) / 262_142n;
}

function text(name: string, value: string): UnitProperty {
  return [name, { signature: "s", value }];
}

function flag(name: string, value: boolean): UnitProperty {
  return [name, { signature: "b", value }];
}

function number(name: string, value: bigint): UnitProperty {
  return [name, { signature: "t", value }];
}
