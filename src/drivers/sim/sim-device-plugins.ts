import type { DevicePlugins } from "../../ports/device-plugins.ts";

/** A machine without device plugins. */
export const simDevicePlugins: DevicePlugins = {
  serve: () => Promise.resolve({ close: () => Promise.resolve() }),
  connect: (socketPath) => Promise.reject(new Error(`nothing listens at ${socketPath}`)),
};
