import { expect, test } from "vitest";
import {
  deleteDiscovery,
  deleteFailedNode,
  deleteInterface,
  deleteNode,
  discover,
  login,
  logout,
  newDiscovery,
  newInterface,
  showInterface,
  startManually,
  updateDiscovery,
  updateInterface,
  updateNode,
} from "./iscsiadm.ts";

const portal = "10.0.0.1:3260";
const target = { iqn: "iqn.a", interface: "eth1" };

test.each([
  [showInterface("eth1"), "iscsiadm -m iface -I eth1 -o show"],
  [newInterface("eth1"), "iscsiadm -m iface -I eth1 -o new"],
  [updateInterface("eth1", "k", "v"), "iscsiadm -m iface -I eth1 -o update -n k -v v"],
  [deleteInterface("eth1"), "iscsiadm -m iface -I eth1 -o delete"],
  [
    newDiscovery(portal, target),
    "iscsiadm -m discoverydb -t sendtargets -p 10.0.0.1:3260 -I eth1 -o new",
  ],
  [
    updateDiscovery(portal, target, "k", "v"),
    "iscsiadm -m discoverydb -t sendtargets -p 10.0.0.1:3260 -I eth1 -o update -n k -v v",
  ],
  [
    discover(portal, target),
    "iscsiadm -m discoverydb -t sendtargets -p 10.0.0.1:3260 -I eth1 --discover",
  ],
  [
    deleteDiscovery(portal, target),
    "iscsiadm -m discoverydb -t sendtargets -p 10.0.0.1:3260 -I eth1 -o delete",
  ],
  [
    updateNode(portal, target, "k", "v"),
    "iscsiadm -m node -p 10.0.0.1:3260 -T iqn.a -I eth1 -o update -n k -v v",
  ],
  [login(portal, target), "iscsiadm -m node -p 10.0.0.1:3260 -T iqn.a -I eth1 --login"],
  [
    deleteFailedNode(portal, target),
    "iscsiadm -m node -p 10.0.0.1:3260 -I eth1 -T iqn.a -o delete",
  ],
  [
    startManually(portal, "iqn.a"),
    "iscsiadm -m node -p 10.0.0.1:3260 -T iqn.a -o update -n node.startup -v manual",
  ],
  [logout(portal, "iqn.a", undefined), "iscsiadm -m node -p 10.0.0.1:3260 -T iqn.a --logout"],
  [logout(portal, "iqn.a", "eth1"), "iscsiadm -m node -p 10.0.0.1:3260 -T iqn.a --logout -I eth1"],
  [
    deleteNode(portal, "iqn.a", "eth1"),
    "iscsiadm -m node -p 10.0.0.1:3260 -T iqn.a -o delete -I eth1",
  ],
])("%# runs %s", (argv, expected) => {
  expect(argv.join(" ")).toBe(expected);
});
