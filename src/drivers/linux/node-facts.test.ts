import { describe, expect, test } from "vitest";
import { linuxNodeFacts, parseOsImage } from "./node-facts.ts";

describe("this machine as a node", () => {
  test("reports the machine's resources", () => {
    const machine = linuxNodeFacts.readMachine();
    expect(machine.cpuCount).toBeGreaterThan(0);
    expect(machine.memoryBytes % 1024n).toBe(0n);
    expect(machine.memoryBytes).toBeGreaterThan(0n);
    expect(machine.bootId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("reports the machine's system", () => {
    const { kernelVersion, osImage } = linuxNodeFacts.readSystem();
    expect(kernelVersion).toMatch(/^\d+\./);
    expect(osImage).not.toBe("");
  });

  test("knows its own addresses", () => {
    expect(linuxNodeFacts.listIps()).toContain("127.0.0.1");
  });
});

test("a system's name is its pretty one, without quotes", () => {
  expect(parseOsImage('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')).toBe(
    "Debian GNU/Linux 12 (bookworm)",
  );
  expect(parseOsImage("PRETTY_NAME=Alpine\n")).toBe("Alpine");
  expect(parseOsImage("ID=x\n")).toBe("Linux");
});
