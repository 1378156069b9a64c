import { expect, test } from "vitest";
import { err, ok } from "../../../lib/result.ts";
import { ephemeralCsiSource } from "./csi-volume.ts";
import {
  formatVolumeData,
  parseVolumeData,
  type ReconstructedVolume,
  reconstructCsiBlockVolume,
  reconstructCsiVolume,
  volumeDataPath,
} from "./volume-data.ts";

test("the record is written as the kubelet writes it: sorted, on one line", () => {
  const text = formatVolumeData({
    specVolID: "pv-1",
    volumeHandle: "a<b",
    driverName: "d.example.com",
    nodeName: "node",
    attachmentID: undefined,
  });
  expect(text).toBe(
    '{"driverName":"d.example.com","nodeName":"node","specVolID":"pv-1","volumeHandle":"a\\u003cb"}\n',
  );
});

test("what is written is read again, and fields of others are ignored", () => {
  const data = { specVolID: "pv-1", driverName: "d", seLinuxMountContext: "c" };
  expect(parseVolumeData("/x", ok(formatVolumeData(data)))).toEqual(ok(data));
  expect(parseVolumeData("/x", ok('{"driverName":"d","other":"x"}'))).toEqual(
    ok({ driverName: "d" }),
  );
});

test("a record that is not an object of texts is refused with its path", () => {
  expect(parseVolumeData("/x", ok("[]"))).toEqual({
    ok: false,
    error: {
      kind: "final",
      message:
        "kubernetes.io/csi: failed to parse volume data file [/x/vol_data.json]: json: cannot unmarshal array into Go value of type map[string]string",
    },
  });
});

test("an ephemeral volume is found again as the pod's own", () => {
  const data = { specVolID: "data", driverName: "d", volumeLifecycleMode: "Ephemeral" };
  const found = reconstructCsiVolume("/x", ok(formatVolumeData(data)));
  expect(found.ok && ephemeralCsiSource(found.value.spec)).toEqual({ driver: "d" });
});

test("a block volume is found again as a persistent one", () => {
  const data = { specVolID: "pv-1", driverName: "d", volumeHandle: "h" };
  const file = ok(formatVolumeData(data));
  const paths = { mapPath: "/pod/link", dataFolder: "/data" };
  const spec = { csi: { driver: "d", volumeHandle: "h" }, volumeMode: "Block" };
  const expected: ReconstructedVolume = {
    spec: {
      source: "persistentVolume",
      persistentVolume: { metadata: { name: "pv-1" }, spec },
      readOnly: false,
    },
    seLinuxMountContext: "",
  };
  expect(reconstructCsiBlockVolume(paths, file)).toEqual(ok(expected));
});

test("a volume without a record is not guessed", () => {
  const paths = { mapPath: "/pod/link", dataFolder: "/data" };
  expect(reconstructCsiBlockVolume(paths, err("no such file"))).toMatchObject({
    error: { message: expect.stringContaining(`[${volumeDataPath("/data")}]: no such file`) },
  });
});

test("a record that was cut off is refused", () => {
  expect(parseVolumeData("/x", ok('{"driverName":"d"'))).toMatchObject({
    error: { message: expect.stringContaining("unexpected EOF") },
  });
});
