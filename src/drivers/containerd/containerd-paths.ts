import { join } from "node:path";

/** Where everything of a managed containerd lies: below one folder of the agent's data folder. */
export interface ContainerdPaths {
  readonly base: string;
  readonly root: string;
  readonly state: string;
  readonly runcRoot: string;
  readonly socket: string;
  readonly configFile: string;
  readonly logFile: string;
  readonly cniConfigFolder: string;
  readonly cniConfigFile: string;
  readonly ipamFolder: string;
  readonly networkFile: string;
}

export function containerdPaths(dataDir: string): ContainerdPaths {
  const base = join(dataDir, "containerd");
  const state = join(base, "state");
  const cniConfigFolder = join(base, "cni");
  return {
    base,
    root: join(base, "root"),
    state,
    runcRoot: join(state, "runc"),
    socket: join(base, "containerd.sock"),
    configFile: join(base, "config.toml"),
    logFile: join(base, "containerd.log"),
    cniConfigFolder,
    cniConfigFile: join(cniConfigFolder, "10-berth.conflist"),
    ipamFolder: join(base, "ipam"),
    networkFile: join(base, "network.json"),
  };
}
