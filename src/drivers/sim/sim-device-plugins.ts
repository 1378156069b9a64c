import type { DevicePlugins } from "../../ports/device-plugins.ts";
import type { DraPlugins } from "../../ports/dra-plugins.ts";
import type { PodResourcesApi } from "../../ports/pod-resources.ts";

/** A machine without device plugins. */
export const simDevicePlugins: DevicePlugins = {
  serve: () => Promise.resolve({ close: () => Promise.resolve() }),
  connect: (socketPath) => Promise.reject(new Error(`nothing listens at ${socketPath}`)),
};

/** A machine without DRA drivers. */
export const simDraPlugins: DraPlugins = {
  connect: (socketPath) => {
    throw new Error(`nothing listens at ${socketPath}`);
  },
};

export const simPodResourcesApi: PodResourcesApi = {
  serve: () => Promise.resolve({ close: () => Promise.resolve() }),
};
