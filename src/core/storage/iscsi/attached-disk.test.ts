import { expect, test } from "vitest";
import { attachedDisk } from "./attached-disk.ts";
import { type IscsiDisk } from "./iscsi-disk.ts";
import { iscsiFilePath, iscsiFileText, parseIscsiFile } from "./iscsi-file.ts";

const disk: IscsiDisk = {
  volumeName: "pv",
  portals: ["10.0.0.1:3260", "10.0.0.2:3260", "10.0.0.1:3260"],
  iqn: "iqn.2003-01.io.example:a",
  lun: "2",
  initialInterface: "default",
  interface: "10.0.0.1:3260:pv",
  initiatorName: "iqn.x:y",
};
const folder =
  "/r/plugins/kubernetes.io/iscsi/iface-eth1/10.0.0.9:3260-iqn.2003-01.io.example:b-lun-7";

test("a disk is kept in the kubelet's file, byte by byte", () => {
  expect(iscsiFilePath("/r/x")).toBe("/r/x/iscsi.json");
  expect(iscsiFileText(disk)).toBe(
    '{"VolName":"pv","Portals":["10.0.0.1:3260","10.0.0.2:3260","10.0.0.1:3260"],"Iqn":"iqn.2003-01.io.example:a","Lun":"2",' +
      '"InitIface":"default","Iface":"10.0.0.1:3260:pv","InitiatorName":"iqn.x:y","MetricsProvider":null}\n',
  );
  expect(parseIscsiFile(iscsiFileText(disk))).toEqual(disk);
});

test.each(["", "[]", "null", '{"Portals":[1]}', '{"Lun":2}'])("%j is not a disk", (text) => {
  expect(parseIscsiFile(text)).toBeUndefined();
});

test("the file says more than the folder, and each portal counts once", () => {
  expect(attachedDisk(folder, iscsiFileText(disk))).toEqual({
    ok: true,
    value: {
      portals: ["10.0.0.1:3260", "10.0.0.2:3260"],
      iqn: disk.iqn,
      lun: "2",
      interface: disk.interface,
      hasOwnInterface: true,
      isRecorded: true,
    },
  });
});

test("an interface that others may use stays", () => {
  const text = iscsiFileText({ ...disk, interface: "eth1" });
  expect(attachedDisk(folder, text)).toMatchObject({ value: { hasOwnInterface: false } });
});

test("without a file the folder's path says what to log out of", () => {
  expect(attachedDisk(folder, undefined)).toEqual({
    ok: true,
    value: {
      portals: ["10.0.0.9:3260"],
      iqn: "iqn.2003-01.io.example:b",
      lun: "7",
      interface: "eth1",
      hasOwnInterface: false,
      isRecorded: false,
    },
  });
});

test.each([
  ["/r/x", "iscsi detach disk: malformatted mnt path: /r/x"],
  ["/r/x-lun-1", "iscsi detach disk: no iqn in x-lun-1"],
  ["/a-lun-1/x", "iscsi detach disk: no portal in x"],
])("%s names no disk", (path, message) => {
  expect(attachedDisk(path, undefined)).toMatchObject({ error: { message } });
});
