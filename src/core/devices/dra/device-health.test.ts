import { expect, test } from "vitest";
import { DeviceHealths, type ReportedHealth } from "./device-health.ts";

const driver = "gpu.example.com";
const device = { pool: "pool", device: "dev" };

function report(changes: Partial<ReportedHealth> = {}): ReportedHealth {
  return { ...device, health: "Healthy", message: "", timeoutSeconds: 0, ...changes };
}

test("a report holds for 30 s where the driver says nothing else", () => {
  const healths = new DeviceHealths();
  healths.update(driver, [report()], 0);
  expect(healths.get(driver, device, 30_000).health).toBe("Healthy");
  expect(healths.get(driver, device, 30_001).health).toBe("Unknown");
});

test("only what changed is reported", () => {
  const healths = new DeviceHealths();
  expect(healths.update(driver, [report()], 0)).toHaveLength(1);
  expect(healths.update(driver, [report()], 1000)).toEqual([]);
  expect(healths.update(driver, [report({ message: "hot" })], 2000)).toHaveLength(1);
});

test("a long message is shortened to 1024 bytes", () => {
  const healths = new DeviceHealths();
  healths.update(driver, [report({ message: "x".repeat(2000) })], 0);
  expect(healths.get(driver, device, 0).message).toBe(`${"x".repeat(1021)}...`);
});

test("the next agent knows what drivers reported", () => {
  const healths = new DeviceHealths();
  healths.update(driver, [report({ health: "Unhealthy", message: "hot" })], 1500);
  const next = new DeviceHealths();
  next.restore(healths.encode());
  expect(next.get(driver, device, 2000)).toEqual(healths.get(driver, device, 2000));
  expect(next.encode()).toBe(healths.encode());
});
