import { expect, test } from "vitest";
import { hasCapability } from "../../model/machine.ts";
import { parseCapabilities, readMachine } from "./read-machine.ts";

test("a capability counts only when it is neither missing nor bounded away", () => {
  const status = "Name:\tnode\nCapEff:\t000001ffffffffff\nCapBnd:\t000001fffeffffff\n";
  const machine = { capabilities: parseCapabilities(status) };
  expect(hasCapability(machine, "CAP_SYS_RESOURCE")).toBe(false);
  expect(hasCapability(machine, "CAP_SYS_ADMIN")).toBe(true);
  expect(parseCapabilities("")).toBe(0n);
});

test("any Linux machine can be read", () => {
  const machine = readMachine();
  expect(machine.kernelRelease).toMatch(/^\d+\./);
  expect(machine.tools.mount).toMatch(/^\/.*\/mount$/);
});
