import { expect, test } from "vitest";
import { planRuleRemoval, sandboxesInRules } from "./remove-network.ts";

const ID = "341af2c9";
const POD = [
  "-N CNI-18d6c4",
  "-N CNI-DN-18d6c4",
  `-A POSTROUTING -s 10.9.0.2/32 -m comment --comment "name: \\"berth0\\" id: \\"${ID}\\"" -j CNI-18d6c4`,
  `-A CNI-18d6c4 -d 10.9.0.0/24 -m comment --comment "name: \\"berth0\\" id: \\"${ID}\\"" -j ACCEPT`,
  `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"berth0\\" id: \\"${ID}\\"" -m multiport --dports 80 -j CNI-DN-18d6c4`,
  "-A CNI-DN-18d6c4 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.9.0.2:80",
];
const SHARED = [
  "-P POSTROUTING ACCEPT",
  "-N CNI-HOSTPORT-DNAT",
  "-N CNI-HOSTPORT-MASQ",
  "-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT",
  '-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ',
  "-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE",
];
const OTHER =
  '-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"berth01\\" id: \\"aa\\"" -j CNI-DN-aa';

test("a network's jumps go first, then its chains, then the shared chains that are unused", () => {
  expect(planRuleRemoval([...SHARED, ...POD], "berth0").map((words) => words.join(" "))).toEqual([
    `-D POSTROUTING -s 10.9.0.2/32 -m comment --comment name: "berth0" id: "${ID}" -j CNI-18d6c4`,
    "-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT",
    "-D POSTROUTING -m comment --comment CNI portfwd requiring masquerade -j CNI-HOSTPORT-MASQ",
    ...["CNI-18d6c4", "CNI-DN-18d6c4", "CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ"].map(
      (chain) => `-F ${chain}`,
    ),
    ...["CNI-18d6c4", "CNI-DN-18d6c4", "CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ"].map(
      (chain) => `-X ${chain}`,
    ),
  ]);
});

test("what another network uses stays, even when its name begins the same", () => {
  const plan = planRuleRemoval([...SHARED, ...POD, OTHER], "berth0").map((words) =>
    words.join(" "),
  );
  expect(plan.filter((line) => line.includes("HOSTPORT"))).toEqual([
    `-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment dnat name: "berth0" id: "${ID}" -m multiport --dports 80 -j CNI-DN-18d6c4`,
  ]);
  expect(plan.join("\n")).not.toContain("CNI-DN-aa");
});

test("of one sandbox only its own rules and chains go", () => {
  const others = POD.map((rule) => rule.replaceAll(ID, "5bd1").replaceAll("18d6c4", "77aa00"));
  const plan = planRuleRemoval([...SHARED, ...POD, ...others], "berth0", ID);
  const lines = plan.map((words) => words.join(" "));
  expect(lines).toHaveLength(6);
  expect(lines.filter((line) => line.includes(ID) || line.includes("18d6c4"))).toEqual(lines);
});

test("the sandboxes that rules are for are named, each once", () => {
  expect(sandboxesInRules([...SHARED, ...POD, OTHER], "berth0")).toEqual([ID]);
  expect(sandboxesInRules(SHARED, "berth0")).toEqual([]);
});

test("without rules of CNI there is nothing to do", () => {
  expect(planRuleRemoval(["-P INPUT ACCEPT", "-A INPUT -j ACCEPT", ""], "berth0")).toEqual([]);
});
