// The cgroups of this node: who makes them, and what they allow.
import { type FeatureGateState, isFeatureEnabled } from "../config/feature-gates.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { runtimeCgroupDriver } from "../core/resource/cgroup-driver.ts";
import {
  type CgroupDriver,
  type CgroupName,
  cgroupPath,
  parseCgroupPath,
} from "../core/resource/cgroup-name.ts";
import { type ShutdownPeriod, shutdownPeriods } from "../core/shutdown/plan-shutdown.ts";
import { openCgroups } from "../drivers/linux/open-cgroups.ts";
import { DbusConnection } from "../drivers/systemd/dbus-connection.ts";
import { SystemdCgroups } from "../drivers/systemd/systemd-cgroups.ts";
import { SystemdUnits } from "../drivers/systemd/systemd-units.ts";
import type { NodeCgroupSettings } from "../engine/resources/node-cgroups.ts";
import { millisecondsOf } from "../lib/duration.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { RuntimeConfigResponse } from "../model/generated/cri.ts";
import { RuntimeError } from "../model/runtime-error.ts";
import type { Cgroups } from "../ports/cgroups.ts";
import type { ContainerRuntime } from "../ports/container-runtime.ts";
import type { Log } from "../ports/log.ts";

const podsCgroup = "kubepods";

export interface OpenedCgroups {
  readonly driver: CgroupDriver;
  /** The cgroup of all pods. */
  readonly root: CgroupName;
  readonly cgroups: Cgroups;
  /** Cgroups below another one than that of pods. */
  readonly cgroupsAt: (path: string) => Cgroups;
}

/** This machine's cgroups below `parent`, made as the runtime makes its own. */
export async function openNodeCgroups(
  runtime: Pick<ContainerRuntime, "runtimeConfig">,
  settings: { readonly parent: string; readonly driver: CgroupDriver },
  log: Log,
  signal: AbortSignal,
): Promise<OpenedCgroups> {
  const driver = runtimeCgroupDriver(await readRuntimeConfig(runtime, signal)) ?? settings.driver;
  const root = [...parseCgroupPath(settings.parent, "cgroupfs"), podsCgroup];
  const path = cgroupPath(root, driver);
  if (!path.ok) {
    throw new SetupError(
      `cgroupRoot ${settings.parent} does not fit: ${path.error}`,
      "name a cgroup without slashes or dashes in its parts",
    );
  }
  const units = systemdUnits();
  const cgroupsAt = (at: string): Cgroups =>
    driver === "systemd"
      ? new SystemdCgroups({ files: openCgroups(at), units, log })
      : openCgroups(at);
  return { driver, root, cgroups: cgroupsAt(path.value), cgroupsAt };
}

/** An older runtime does not report it. */
async function readRuntimeConfig(
  runtime: Pick<ContainerRuntime, "runtimeConfig">,
  signal: AbortSignal,
): Promise<RuntimeConfigResponse | undefined> {
  try {
    return await runtime.runtimeConfig(signal);
  } catch (error) {
    if (error instanceof RuntimeError && error.code === "Unimplemented") return undefined;
    throw error;
  }
}

/** One connection for all, made again when it was lost. */
function systemdUnits(): () => Promise<SystemdUnits> {
  let opened: Promise<SystemdUnits> | undefined;
  const connect = async (): Promise<SystemdUnits> => {
    const bus = await DbusConnection.open();
    const forget = async (): Promise<void> => {
      await bus.closed;
      opened = undefined;
    };
    void forget();
    return new SystemdUnits(bus);
  };
  return () => {
    opened ??= connect().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

/** Nothing reserved, and pods held to what the machine has. */
export const defaultNodeCgroups: NodeCgroupSettings = {
  perQos: true,
  podPidsLimit: undefined,
  reservations: {
    kubeReserved: {},
    systemReserved: {},
    kubeReservedCgroup: "",
    systemReservedCgroup: "",
    enforced: ["pods"],
  },
};

/** What a kubelet's configuration says of cgroups. */
export function kubeletNodeCgroups(
  config: KubeletConfiguration,
  gates: FeatureGateState,
): NodeCgroupSettings {
  const { memory } = config.qosReserved ?? {};
  const reservesMemory = memory !== undefined && isFeatureEnabled(gates, "QOSReserved");
  return {
    perQos: config.cgroupsPerQOS,
    podPidsLimit: config.podPidsLimit > 0 ? config.podPidsLimit : undefined,
    reservations: {
      kubeReserved: config.kubeReserved ?? {},
      systemReserved: config.systemReserved ?? {},
      kubeReservedCgroup: config.kubeReservedCgroup,
      systemReservedCgroup: config.systemReservedCgroup,
      enforced: config.enforceNodeAllocatable ?? [],
      keepsMemory: isFeatureEnabled(gates, "MemoryQoS"),
    },
    ...(reservesMemory ? { qosMemoryPercent: Number.parseInt(memory, 10) } : {}),
  };
}

/** How long pods may take to end when the machine goes down. */
export function kubeletShutdownPeriods(
  config: KubeletConfiguration,
  gates: FeatureGateState,
): readonly ShutdownPeriod[] {
  if (!isFeatureEnabled(gates, "GracefulNodeShutdown")) return [];
  const usesPriorities = isFeatureEnabled(gates, "GracefulNodeShutdownBasedOnPodPriority");
  const { shutdownGracePeriodByPodPriority = [] } = config;
  return shutdownPeriods({
    graceMs: millisecondsOf(config.shutdownGracePeriod),
    criticalGraceMs: millisecondsOf(config.shutdownGracePeriodCriticalPods),
    byPriority: (usesPriorities ? shutdownGracePeriodByPodPriority : []).map(
      ({ priority, shutdownGracePeriodSeconds }) => ({
        priority,
        graceSeconds: shutdownGracePeriodSeconds,
      }),
    ),
  });
}
