import { compareText } from "../../../lib/compare-text.ts";
import { jsonText } from "../../../lib/go-text.ts";
import { parseJsonText } from "../../../lib/json-text.ts";
import { formatTimeNano, parseTime } from "../../../lib/time.ts";

export type Health = "Healthy" | "Unhealthy" | "Unknown";

/** What a driver's health stream says of a device. */
export interface ReportedHealth {
  readonly pool: string;
  readonly device: string;
  readonly health: Health;
  readonly message: string;
  /** For how long it holds without a further report; 0 and less is the default. */
  readonly timeoutSeconds: number;
}

export interface DeviceHealth {
  readonly pool: string;
  readonly device: string;
  readonly health: Health;
  readonly message: string;
  readonly timeoutMs: number;
  readonly updatedAtMs: number;
}

const defaultTimeoutMs = 30_000;
const maxMessageBytes = 1024;

/** The health of devices as their drivers report it. */
export class DeviceHealths {
  readonly #drivers = new Map<string, Map<string, DeviceHealth>>();

  /** Takes a whole report of a driver; returns the devices that changed. If there are any, the file has to be saved. */
  update(driver: string, reports: readonly ReportedHealth[], nowMs: number): DeviceHealth[] {
    const devices = this.#drivers.get(driver) ?? new Map<string, DeviceHealth>();
    this.#drivers.set(driver, devices);
    const changed: DeviceHealth[] = [];
    const reported = new Set<string>();
    for (const report of reports) {
      const device = healthOf(report, nowMs);
      const key = deviceKey(device);
      const before = devices.get(key);
      if (before === undefined || !isSameHealth(before, device)) changed.push(device);
      reported.add(key);
      devices.set(key, device);
    }
    for (const [key, device] of devices) {
      if (reported.has(key) || device.health === "Unknown" || !isStale(device, nowMs)) continue;
      const unknown: DeviceHealth = {
        ...device,
        health: "Unknown",
        message: "",
        updatedAtMs: nowMs,
      };
      devices.set(key, unknown);
      changed.push(unknown);
    }
    return changed;
  }

  /** When a driver's stream has ended nothing is known any more. The file has to be saved. */
  clear(driver: string): void {
    this.#drivers.delete(driver);
  }

  /** Unknown when there is no report, or none lately. */
  get(
    driver: string,
    { pool, device }: Pick<DeviceHealth, "pool" | "device">,
    nowMs: number,
  ): Pick<DeviceHealth, "health" | "message"> {
    const known = this.#drivers.get(driver)?.get(deviceKey({ pool, device }));
    if (known === undefined || isStale(known, nowMs)) return { health: "Unknown", message: "" };
    return known;
  }

  /** The content of the kubelet's file dra_health_state. */
  encode(): string {
    const drivers = sorted(this.#drivers).map(([driver, devices]) => [
      driver,
      {
        Devices: Object.fromEntries(sorted(devices).map(([key, one]) => [key, encodeDevice(one)])),
      },
    ]);
    return jsonText(Object.fromEntries(drivers));
  }

  /** Takes over what the file says. Throws when it is not such a file: then nothing is known, as upstream has it. */
  restore(text: string): void {
    const drivers = parseJsonText(text) as Readonly<
      Record<string, { readonly Devices?: Readonly<Record<string, FileDevice>> | null }>
    >;
    for (const [driver, { Devices }] of Object.entries(drivers)) {
      const devices = Object.entries(Devices ?? {});
      this.#drivers.set(
        driver,
        new Map(devices.map(([key, device]) => [key, decodeDevice(device)])),
      );
    }
  }
}

interface FileDevice {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly Health: Health;
  readonly LastUpdated: string;
  /** Nanoseconds. */
  readonly HealthCheckTimeout: number;
  readonly Message: string;
}

function encodeDevice(device: DeviceHealth): FileDevice {
  return {
    PoolName: device.pool,
    DeviceName: device.device,
    Health: device.health,
    LastUpdated: formatTimeNano(device.updatedAtMs).replace(/\.?0{1,9}Z$/, "Z"),
    HealthCheckTimeout: device.timeoutMs * 1e6,
    Message: device.message,
  };
}

function decodeDevice(device: FileDevice): DeviceHealth {
  return {
    pool: device.PoolName,
    device: device.DeviceName,
    health: device.Health,
    message: device.Message,
    timeoutMs: device.HealthCheckTimeout / 1e6,
    updatedAtMs: parseTime(device.LastUpdated) ?? 0,
  };
}

function healthOf(report: ReportedHealth, nowMs: number): DeviceHealth {
  const { pool, device, health, timeoutSeconds } = report;
  return {
    pool,
    device,
    health,
    message: shortened(report.message),
    timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : defaultTimeoutMs,
    updatedAtMs: nowMs,
  };
}

function shortened(message: string): string {
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= maxMessageBytes) return message;
  return `${new TextDecoder().decode(bytes.subarray(0, maxMessageBytes - 3))}...`;
}

function isSameHealth(a: DeviceHealth, b: DeviceHealth): boolean {
  return a.health === b.health && a.message === b.message && a.timeoutMs === b.timeoutMs;
}

function isStale({ timeoutMs, updatedAtMs }: DeviceHealth, nowMs: number): boolean {
  return nowMs - updatedAtMs > (timeoutMs === 0 ? defaultTimeoutMs : timeoutMs);
}

function deviceKey({ pool, device }: Pick<DeviceHealth, "pool" | "device">): string {
  return `${pool}/${device}`;
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].toSorted(([a], [b]) => compareText(a, b));
}
