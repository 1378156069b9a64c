import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type BusReply,
  BusService,
  hasDbusDaemon,
  PrivateBus,
} from "../../../test/fakes/private-bus.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import { DbusConnection } from "./dbus-connection.ts";
import { type DbusMessage, decodeMessage, encodeMessage } from "./dbus-message.ts";
import { Logind } from "./logind.ts";
import { SystemdCgroups } from "./systemd-cgroups.ts";
import { resourceProperties, roundedQuota, SystemdUnits } from "./systemd-units.ts";

test("a message is read as it was written", () => {
  const message: DbusMessage = {
    type: "call",
    serial: 7,
    path: "/a/b",
    interface: "a.b.C",
    member: "Do",
    destination: "a.b",
    signature: "ssa(sv)a(sa(sv))bit",
    body: [
      "slice",
      "replace",
      [
        ["Wants", { signature: "as", value: ["x", "ÿ"] }],
        ["Tasks", { signature: "t", value: 2n ** 64n - 1n }],
      ],
      [],
      true,
      -5,
      9n,
    ],
  };
  const bytes = encodeMessage(message);
  expect(decodeMessage(bytes)).toEqual({ message, bytes: bytes.length });
  expect(decodeMessage(bytes.subarray(0, -1))).toBeUndefined();
});

test("limits are passed to systemd as its own properties", () => {
  const resources = {
    cpuShares: 512,
    cpuQuotaUs: 10_500,
    cpuPeriodUs: 100_000,
    memoryBytes: 64n,
    pidsLimit: 10,
  };
  expect(resourceProperties(resources, 1)).toEqual([
    ["MemoryLimit", { signature: "t", value: 64n }],
    ["CPUShares", { signature: "t", value: 512n }],
    ["CPUQuotaPerSecUSec", { signature: "t", value: 110_000n }],
    ["TasksMax", { signature: "t", value: 10n }],
  ]);
  expect(resourceProperties(resources, 2)).toEqual([
    ["MemoryMax", { signature: "t", value: 64n }],
    ["CPUWeight", { signature: "t", value: 20n }],
    ["CPUQuotaPerSecUSec", { signature: "t", value: 110_000n }],
    ["TasksMax", { signature: "t", value: 10n }],
  ]);
  const unified = { "memory.min": "5", "memory.low": "6" };
  expect(resourceProperties({ unified }, 1)).toEqual([]);
  expect(resourceProperties({ unified }, 2)).toEqual([
    ["MemoryMin", { signature: "t", value: 5n }],
    ["MemoryLow", { signature: "t", value: 6n }],
  ]);
  expect(roundedQuota(resources).cpuQuotaUs).toBe(11_000);
  expect(roundedQuota({ cpuQuotaUs: -1 })).toEqual({ cpuQuotaUs: -1 });
});

describe.runIf(hasDbusDaemon)("on a message bus of its own", () => {
  const bus = new PrivateBus();

  beforeAll(() => bus.start());
  afterAll(() => bus.stop());

  test("the bus answers calls, and reports what it refuses", async () => {
    const connection = await DbusConnection.open(bus.path);
    const call = {
      destination: "org.freedesktop.DBus",
      path: "/org/freedesktop/DBus",
      interface: "org.freedesktop.DBus",
    };
    const [names] = await connection.call({ ...call, member: "ListNames" });
    expect(names).toContain("org.freedesktop.DBus");
    await expect(connection.call({ ...call, member: "Nonsense" })).rejects.toMatchObject({
      errorName: "org.freedesktop.DBus.Error.UnknownMethod",
    });
    connection.close();
    await expect(connection.closed).resolves.toBeInstanceOf(Error);
  });

  test("a bus that is not there is an error", async () => {
    await expect(DbusConnection.open(join(bus.folder, "none"))).rejects.toThrow("ENOENT");
  });

  test("a pod's cgroup is a slice below the class's, with its limits in systemd and in the files", async () => {
    let service: BusService | undefined;
    let jobs = 0;
    service = await BusService.open(
      bus.path,
      "org.freedesktop.systemd1",
      ({ member }): BusReply => {
        if (member !== "StartTransientUnit" && member !== "StopUnit") return {};
        jobs += 1;
        const job = `/org/freedesktop/systemd1/job/${jobs}`;
        const ended: readonly [number, string, string, string] = [jobs, job, "unit", "done"];
        const signal = "org.freedesktop.systemd1.Manager.JobRemoved";
        service?.signal("/org/freedesktop/systemd1", signal, "uoss", ended);
        return { signature: "o", body: [job] };
      },
    );
    const connection = await DbusConnection.open(bus.path);
    const files = new RecordedFiles();
    const units = new SystemdUnits(connection);
    const cgroups = new SystemdCgroups({ files, units: async () => units, log: silentLog });
    const path = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice";
    await cgroups.create(path, { cpuShares: 512, memoryBytes: 64n });
    const [start] = service.calls.filter(({ member }) => member === "StartTransientUnit");
    expect(start?.body?.slice(0, 2)).toEqual(["kubepods-burstable-pod1.slice", "replace"]);
    expect(start?.body?.[2]).toContainEqual([
      "Wants",
      { signature: "as", value: ["kubepods-burstable.slice"] },
    ]);
    expect(start?.body?.[2]).toContainEqual(["MemoryLimit", { signature: "t", value: 64n }]);
    await cgroups.update(path, { cpuShares: 1024 });
    await expect.poll(() => service.calls.at(-1)?.member).toBe("SetUnitProperties");
    expect(service.calls.at(-1)?.body).toEqual([
      "kubepods-burstable-pod1.slice",
      true,
      [["CPUShares", { signature: "t", value: 1024n }]],
    ]);
    await cgroups.remove(path, new AbortController().signal);
    expect(service.calls.at(-1)).toMatchObject({ member: "StopUnit" });
    expect(files.done).toEqual([`create ${path}`, `update ${path}`, `remove ${path}`]);
    await expect(cgroups.create("/kubepods", {})).rejects.toThrow("is not a systemd slice");
    connection.close();
    service.close();
  });

  test("logind reports how long it waits, takes a longer time, and announces a shutdown and its end", async () => {
    const service = await BusService.open(bus.path, "org.freedesktop.login1", () => ({
      signature: "v",
      body: [{ signature: "t", value: 5_000_000n }],
    }));
    const systemd = await BusService.open(bus.path, "org.freedesktop.systemd1", () => ({}));
    const logind = new Logind({ busPath: bus.path, settingsFolder: join(bus.folder, "conf.d") });
    expect(await logind.maxDelayMs()).toBe(5000);
    await logind.extendMaxDelay(30_000);
    expect(readFileSync(join(bus.folder, "conf.d/99-kubelet.conf"), "utf8")).toBe(
      "# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=30\n",
    );
    expect(systemd.calls.at(-1)).toMatchObject({
      member: "KillUnit",
      body: ["systemd-logind.service", "all", 1],
    });
    const received: boolean[] = [];
    const end = new AbortController();
    const watching = logind.watch((isShuttingDown) => received.push(isShuttingDown), end.signal);
    const announce = (isShuttingDown: boolean): void =>
      service.signal(
        "/org/freedesktop/login1",
        "org.freedesktop.login1.Manager.PrepareForShutdown",
        "b",
        [isShuttingDown],
      );
    await expect
      .poll(() => {
        if (received.length === 0) announce(true);
        return received.length > 0;
      })
      .toBe(true);
    announce(false);
    await expect.poll(() => received.at(-1)).toBe(false);
    end.abort();
    await expect(watching).resolves.toBeUndefined();
    service.close();
    systemd.close();
  });

  test("a lock is held by a program until it is released", async () => {
    const record = join(bus.folder, "locks");
    const program = join(bus.folder, "inhibit");
    writeFileSync(
      program,
      `#!/bin/sh\necho "$@" > ${record}\nshift 4\n"$@"\necho released >> ${record}\n`,
    );
    chmodSync(program, 0o755);
    const lock = await new Logind({ inhibitProgram: program }).lock();
    expect(readFileSync(record, "utf8")).toMatch(
      /^--what=shutdown --who=kubelet --why=.* --mode=delay sh/,
    );
    lock.release();
    await expect.poll(() => readFileSync(record, "utf8")).toContain("released");
  });

  test("a lock that cannot be had says why", async () => {
    const program = join(bus.folder, "refusing");
    writeFileSync(program, "#!/bin/sh\necho 'Failed to inhibit: Access denied' >&2\nexit 1\n");
    chmodSync(program, 0o755);
    await expect(new Logind({ inhibitProgram: program }).lock()).rejects.toThrow("Access denied");
    await expect(new Logind({ inhibitProgram: join(bus.folder, "none") }).lock()).rejects.toThrow(
      "ENOENT",
    );
  });
});

/** Takes note of what is asked for. */
class RecordedFiles implements Cgroups {
  readonly version = 1;
  readonly done: string[] = [];

  exists(): boolean {
    return true;
  }

  create(path: string): Promise<void> {
    this.done.push(`create ${path}`);
    return Promise.resolve();
  }

  update(path: string): Promise<void> {
    this.done.push(`update ${path}`);
    return Promise.resolve();
  }

  read(): CgroupResources {
    return {};
  }

  readMemoryUsageBytes(): bigint {
    return 0n;
  }

  listChildren(): readonly string[] {
    return [];
  }

  listPids(): readonly number[] {
    return [];
  }

  remove(path: string): Promise<void> {
    this.done.push(`remove ${path}`);
    return Promise.resolve();
  }
}
