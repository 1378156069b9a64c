import { expect, test } from "vitest";
import { cloneRecords, transportName } from "./iscsi-interface.ts";

const shown = [
  "# BEGIN RECORD 2.0-873",
  "iface.iscsi_ifacename = default",
  "iface.net_ifacename = <empty>",
  "iface.transport_name = tcp",
  "iface.initiatorname = <empty>",
  "iface.vlan_id = 0",
  "# END RECORD",
  "",
].join("\n");

test.each([
  [shown, "tcp"],
  ["iface.transport_name = <empty>\n", "tcp"],
  ["iface.transport_name = bnx2i\n", "bnx2i"],
  ["iface.transport_name = bnx2i", undefined],
  ["iface.transport_name = \n", undefined],
  ["", undefined],
])("the transport of an interface is read from %j", (text, expected) => {
  expect(transportName(text)).toBe(expected);
});

test("a clone has the records that are set, without the name, and its own initiator name", () => {
  expect(cloneRecords(shown, "iqn.x:y")).toEqual({
    ok: true,
    value: [
      ["iface.initiatorname", "iqn.x:y"],
      ["iface.transport_name", "tcp"],
      ["iface.vlan_id", "0"],
    ],
  });
});

test("a record that is not key = value is refused", () => {
  expect(cloneRecords("iface.vlan_id 0\n", "iqn.x:y")).toEqual({
    ok: false,
    error: "error: invalid iface setting: [iface.vlan_id 0]",
  });
});
