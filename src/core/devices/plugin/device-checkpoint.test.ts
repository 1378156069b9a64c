import { expect, test } from "vitest";
import { allocateResponseCodec } from "../../../drivers/device-plugins/allocate-response.ts";
import { podUid } from "../../../model/ids.ts";
import { DeviceCheckpointEncoder, parseDeviceCheckpoint } from "./device-checkpoint.ts";
import type { HeldEntry } from "./pod-devices.ts";

const resource = "example.com/gpu";

function held(index: number): HeldEntry {
  const idsByNode = new Map([[0, [`gpu${index}`]]]);
  const response = { envs: { GPU: `${index}` } };
  return { pod: podUid(`uid-${index}`), container: "main", resource, idsByNode, response };
}

test("what a plugin answered is encoded once, however often the file is written, and the file is the same", () => {
  let encodings = 0;
  const encoder = new DeviceCheckpointEncoder({
    encode: (response) => {
      encodings += 1;
      return allocateResponseCodec.encode(response);
    },
  });
  const entries: HeldEntry[] = [];
  for (let index = 0; index < 20; index += 1) {
    entries.push(held(index));
    const registered = new Map([[resource, entries.map((_, device) => `gpu${device}`)]]);
    // The list of holders is made again for every write.
    const checkpoint = { entries: entries.map((entry) => ({ ...entry })), registered };
    const text = encoder.text(checkpoint);
    expect(text).toBe(new DeviceCheckpointEncoder(allocateResponseCodec).text(checkpoint));
    const parsed = parseDeviceCheckpoint(text, allocateResponseCodec);
    expect(parsed).toMatchObject({ ok: true, value: checkpoint });
  }
  expect(encodings).toBe(20);
});
