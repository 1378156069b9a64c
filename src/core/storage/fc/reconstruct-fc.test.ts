import { expect, test } from "vitest";
import { reconstructFcBlockVolume, reconstructFcVolume } from "./reconstruct-fc.ts";

test.each([
  ["5006-5007-lun-3", { targetWWNs: ["5006", "5007"], lun: 3 }],
  ["3600_A", { wwids: ["3600_A"], lun: 0 }],
  ["3600_A-3601", { wwids: ["3600_A", "3601"], lun: 0 }],
])("a volume is known by the folder %s", (name, fc) => {
  expect(reconstructFcVolume("v", `/r/plugins/kubernetes.io/fc/${name}`)).toEqual({
    ok: true,
    value: { source: "inline", volume: { name: "v", fc } },
  });
  expect(reconstructFcBlockVolume("v", `/r/${name}`)).toMatchObject({
    value: { persistentVolume: { spec: { fc, volumeMode: "Block" } }, readOnly: false },
  });
});

test.each([
  ["lun-3", "no wwn in: lun-3"],
  ["5006-lun-x", 'strconv.Atoi: parsing "x": invalid syntax'],
])("%s is not the folder of a volume", (name, problem) => {
  const message = `failed to retrieve volume plugin information from globalPDPath: ${problem}`;
  expect(reconstructFcVolume("v", `/r/${name}`)).toMatchObject({ error: { message } });
  expect(reconstructFcBlockVolume("v", `/r/${name}`)).toMatchObject({ error: { message } });
});
