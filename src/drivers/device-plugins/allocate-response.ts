import { ContainerAllocateResponse as Message } from "../../generated/device-plugin.ts";
import type { ContainerAllocateResponse } from "../../model/generated/device-plugin.ts";

interface AllocateResponseCodec {
  readonly encode: (response: ContainerAllocateResponse) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => ContainerAllocateResponse;
}

/** The bytes in which a kubelet's checkpoint keeps what a plugin answered. */
export const allocateResponseCodec: AllocateResponseCodec = {
  // ts-proto's type of partial messages forbids undefined, which its code takes.
  encode: (response) => Message.encode(Message.fromPartial(response as never)).finish(),
  decode: (bytes) => Message.decode(bytes),
};
