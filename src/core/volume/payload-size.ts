import type { Payload } from "../../model/volume-payload.ts";

/** An object has a mebibyte at most, but a volume may name one object, key or field any number of times. */
export const maxPayloadBytes: number = 32 * 1024 * 1024;

export const payloadTooLarge: string = `the files of the volume come to more than ${maxPayloadBytes} bytes: name fewer sources or items`;

export function payloadBytes(payload: Payload): number {
  let bytes = 0;
  for (const { data } of payload.values()) bytes += data.length;
  return bytes;
}
