import { expect, test } from "vitest";
import { reconstructIscsiBlockVolume, reconstructIscsiVolume } from "./reconstruct-iscsi.ts";

const name = "iface-eth1/10.0.0.1:3260-iqn.2003-01.io.example:a-lun-2";
const iscsi = {
  targetPortal: "10.0.0.1:3260",
  iqn: "iqn.2003-01.io.example:a",
  lun: 2,
  iscsiInterface: "eth1",
};

test("a volume is known by the folder of its disk", () => {
  expect(reconstructIscsiVolume("v", `/r/plugins/kubernetes.io/iscsi/${name}`)).toEqual({
    ok: true,
    value: { source: "inline", volume: { name: "v", iscsi } },
  });
  const folder = `/r/plugins/kubernetes.io/iscsi/volumeDevices/${name}`;
  expect(reconstructIscsiBlockVolume("v", folder)).toEqual({
    ok: true,
    value: {
      source: "persistentVolume",
      persistentVolume: { metadata: { name: "v" }, spec: { iscsi, volumeMode: "Block" } },
      readOnly: false,
    },
  });
});

test.each([
  [
    "/r/10.0.0.1-iqn.a-lun-1",
    "failed to retrieve iface from globalMapPath: /r/10.0.0.1-iqn.a-lun-1",
  ],
  ["/r/10.0.0.1-iqn.a-lun-x", 'strconv.Atoi: parsing "x": invalid syntax'],
  ["/r/x", "iscsi detach disk: malformatted mnt path: /r/x"],
])("%s is not the folder of a volume", (path, message) => {
  expect(reconstructIscsiBlockVolume("v", path)).toMatchObject({ error: { message } });
});
