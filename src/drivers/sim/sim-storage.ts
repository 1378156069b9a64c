// A machine without storage: no programs, no devices, and no plugins.

import { CommandError } from "../../lib/command-error.ts";
import { err } from "../../lib/result.ts";
import { CsiCallError } from "../../model/csi-call-error.ts";
import type { BlockDevices } from "../../ports/block-devices.ts";
import type { Commands } from "../../ports/commands.ts";
import type { CsiDrivers } from "../../ports/csi-drivers.ts";
import type { DeviceTree } from "../../ports/device-tree.ts";
import type { PluginSockets } from "../../ports/plugin-sockets.ts";

export const simCommands: Commands = {
  run: ([program = ""]) => {
    const message = `exec: "${program}": executable file not found in $PATH`;
    return Promise.reject(new CommandError("not-found", message));
  },
};

export const simDevices: DeviceTree & BlockDevices = {
  list: () => Promise.resolve(undefined),
  readText: () => Promise.resolve(undefined),
  exists: () => Promise.resolve(false),
  resolve: (path) => Promise.resolve(err(`lstat ${path}: no such file or directory`)),
  write: (path) => Promise.resolve(err(`open ${path}: no such file or directory`)),
  entryAt: () => Promise.resolve(undefined),
  deviceNumber: () => Promise.resolve(undefined),
  deviceNodes: () => Promise.resolve([]),
  loopDevices: () => Promise.resolve([]),
};

export const simCsiDrivers: CsiDrivers = {
  connect: (endpoint) => {
    const refuse = (): Promise<never> =>
      Promise.reject(new CsiCallError("Unavailable", `nothing listens at ${endpoint}`));
    return {
      getInfo: refuse,
      getCapabilities: refuse,
      stageVolume: refuse,
      unstageVolume: refuse,
      publishVolume: refuse,
      unpublishVolume: refuse,
      getVolumeStats: refuse,
      expandVolume: refuse,
    };
  },
};

/** Every folder is there and empty, and stays so. */
export const simPluginSockets: PluginSockets = {
  makeFolder: () => Promise.resolve(),
  read: (path) => Promise.resolve({ kind: "folder", identity: path }),
  list: () => Promise.resolve([]),
  watch: () => ({ close: () => undefined }),
  connect: (socketPath) => Promise.reject(new Error(`nothing listens at ${socketPath}`)),
};
