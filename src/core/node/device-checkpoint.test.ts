import { expect, test } from "vitest";
import { parseRegisteredDevices } from "./device-checkpoint.ts";

test("the resources of a kubelet's device plugins are read from its record", () => {
  const record = {
    Data: { PodDeviceEntries: null, RegisteredDevices: { "example.com/gpu": ["a", "b"] } },
    Checksum: 1,
  };
  expect(parseRegisteredDevices(JSON.stringify(record))).toEqual(["example.com/gpu"]);
});

test.each(["", "x", "null", "{}", '{"Data":null}', '{"Data":{"RegisteredDevices":null}}'])(
  "a record like %j names none",
  (text) => {
    expect(parseRegisteredDevices(text)).toEqual([]);
  },
);
