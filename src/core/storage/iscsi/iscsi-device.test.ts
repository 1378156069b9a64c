import { expect, test } from "vitest";
import { isAttachDone, maxAttachAttempts } from "./attach-attempts.ts";
import {
  detachLinkPath,
  deviceLink,
  deviceLinkText,
  linksFolder,
  matchingLink,
} from "./iscsi-device.ts";

const disk = { iqn: "iqn.a", lun: "1" };

test("a link has the address without brackets", () => {
  expect(deviceLinkText(deviceLink("[fd00::5]:3260", disk, "tcp"))).toBe(
    `${linksFolder}/ip-fd00::5:3260-iscsi-iqn.a-lun-1`,
  );
  expect(detachLinkPath("[fd00::5]:3260", "iqn.a", "1")).toBe(
    `${linksFolder}/ip-[fd00::5]:3260-iscsi-iqn.a-lun-1`,
  );
});

test("the link of an adapter is found whatever its PCI address", () => {
  const link = deviceLink("10.0.0.1:3260", disk, "bnx2i");
  expect(deviceLinkText(link)).toBe(`${linksFolder}/pci-*-ip-10.0.0.1:3260-iscsi-iqn.a-lun-1`);
  if ("name" in link) throw new Error("the PCI address is unknown");
  const names = [
    "ip-10.0.0.1:3260-iscsi-iqn.a-lun-1",
    "pci-0000:05:00.0-ip-10.0.0.1:3260-iscsi-iqn.a-lun-11",
    "pci-0000:05:00.0-ip-10.0.0.1:3260-iscsi-iqn.a-lun-1",
  ];
  expect(matchingLink(link, names)).toBe(names[2]);
  expect(matchingLink(link, names.slice(0, 2))).toBeUndefined();
});

test.each([
  { attempt: 1, found: 1, portals: 1, done: true },
  { attempt: 1, found: 2, portals: 3, done: false },
  { attempt: 2, found: 2, portals: 3, done: true },
  { attempt: maxAttachAttempts, found: 1, portals: 2, done: false },
])("attempt $attempt with $found of $portals devices is enough: $done", ({ done, ...counts }) => {
  expect(isAttachDone(counts)).toBe(done);
});
