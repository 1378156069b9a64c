import type {
  ContainerAllocateResponse,
  DevicePluginOptions,
} from "../../../model/generated/device-plugin.ts";

/** What a device plugin is asked while devices are handed out. The caller makes the call and passes the answer on. */
export type DeviceCall =
  | {
      readonly method: "GetPreferredAllocation";
      readonly resource: string;
      readonly available: readonly string[];
      readonly mustInclude: readonly string[];
      readonly size: number;
    }
  | DeviceIdsCall<"Allocate">
  | DeviceIdsCall<"PreStartContainer">
  /** Not a plugin's: the checkpoint has to be on disk before the container may start. */
  | { readonly method: "SaveCheckpoint" };

interface DeviceIdsCall<Method> {
  readonly method: Method;
  readonly resource: string;
  readonly deviceIds: readonly string[];
}

export type DeviceAnswer =
  /** The responses for the one container that was asked for. */
  | { readonly kind: "allocated"; readonly responses: readonly ContainerAllocateResponse[] }
  | { readonly kind: "preferred"; readonly deviceIds: readonly string[] }
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly error: string };

/** Yields calls, is resumed with their answers, and returns what came of it. */
export type DeviceSteps<T> = Generator<DeviceCall, T, DeviceAnswer>;

/** A device plugin as it connected. */
export interface DeviceEndpoint {
  /** undefined: known from the checkpoint only, its plugin did not connect yet. */
  readonly options: DevicePluginOptions | undefined;
  readonly stoppedAtMs: number | undefined;
}
