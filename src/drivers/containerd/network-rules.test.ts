import { expect, test } from "vitest";
import { planNetworkRules } from "./network-rules.ts";

const GUARD =
  "INPUT -d 127.0.0.0/8 -i berth0 -m comment --comment berth network berth0 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP";

function plan(...present: readonly string[]): readonly string[] {
  return planNetworkRules(present, "berth0").map((words) => words.join(" "));
}

test("pods are kept from the host's loopback", () => {
  expect(plan("-P INPUT ACCEPT", "-P FORWARD ACCEPT")).toEqual([`-I ${GUARD}`]);
});

test("where forwarding is off by default, pods are let through", () => {
  expect(plan("-P FORWARD DROP").slice(1)).toEqual([
    "-A FORWARD -i berth0 -m comment --comment berth network berth0 -j ACCEPT",
    "-A FORWARD -o berth0 -m comment --comment berth network berth0 -j ACCEPT",
  ]);
});

test("what is there is not added again, and another network's rule does not count", () => {
  const there = GUARD.replace("berth network berth0", '"berth network berth0"');
  expect(plan(`-A ${there}`)).toEqual([]);
  expect(plan(`-A ${there.replaceAll("berth0", "berth01")}`)).toHaveLength(1);
});
