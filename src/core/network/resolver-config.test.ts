import { expect, test } from "vitest";
import { parseResolverConfig, resolverConfigProblem } from "./resolver-config.ts";

test("a file of the size no resolver has is refused", () => {
  expect(parseResolverConfig(" ".repeat(10 * 1024 * 1024))).toEqual({
    ok: false,
    error: "the read limit is reached",
  });
});

test.each([
  { text: "search a.example\n", problem: undefined },
  { text: "nameserver\n", problem: "nameserver list is empty " },
  {
    text: `search ${Array.from({ length: 30 }, (_, index) => `s${index}`).join(" ")}\n`,
    problem:
      "Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 29 domains!",
  },
  {
    text: `search ${"a".repeat(254)}\n`,
    problem:
      'Resolv.conf file "/etc/resolv.conf" contains a search path which length is more than allowed 253 chars!',
  },
  {
    text: `search ${Array.from({ length: 10 }, () => "a".repeat(250)).join(" ")}\n`,
    problem:
      "Resolv.conf file '/etc/resolv.conf' contains search line which length is more than allowed 2048 chars!",
  },
])("the node is warned: $problem", ({ text, problem }) => {
  expect(resolverConfigProblem("/etc/resolv.conf", text, "cluster.local")).toBe(problem);
});

test("without a cluster domain three more search paths fit", () => {
  const text = `search ${Array.from({ length: 30 }, (_, index) => `s${index}`).join(" ")}\n`;
  expect(resolverConfigProblem("/etc/resolv.conf", text, "")).toBeUndefined();
});
