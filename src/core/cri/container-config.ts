import { cleanPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import {
  type ContainerConfig,
  type LinuxContainerResources,
  type LinuxContainerSecurityContext,
  type Mount,
  NamespaceMode,
} from "../../model/generated/cri.ts";
import { expandedCommand } from "../env/container-env.ts";
import { containerLogPath } from "../paths/log-paths.ts";
import { probeCommandProblem } from "../probe/probe-command.ts";
import { containerAnnotations, containerLabels } from "./container-annotations.ts";
import type { ContainerInputs } from "./container-inputs.ts";
import { containerResources } from "./linux-resources.ts";
import type { RuntimeSettings } from "./runtime-settings.ts";
import {
  containerSecurityContext,
  imageUserProblem,
  nonRootViolation,
} from "./security-context.ts";
import { stopSignal } from "./stop-signal.ts";

/** The runtime's config of a container; an error is the message of a CreateContainerConfigError. */
export function containerConfig(
  inputs: ContainerInputs,
  settings: RuntimeSettings,
): Result<ContainerConfig, string> {
  const { pod, container, restartCount } = inputs;
  const violation =
    nonRootViolation(pod, container, inputs.imageUser) ??
    imageUserProblem(pod, container, inputs.imageUser);
  if (violation !== undefined) return err(violation);
  const securityContext = containerSecurityContext(inputs, settings);
  if (!securityContext.ok) return securityContext;
  const command = expandedCommand(container, inputs.environment);
  if (!command.ok) return command;
  const probeProblem = probeCommandProblem(container);
  if (probeProblem !== undefined) return err(probeProblem);
  const encoder = new TextEncoder();
  return ok({
    metadata: { name: container.name, attempt: restartCount },
    image: { image: inputs.imageRef, userSpecifiedImage: container.image },
    ...command.value,
    workingDir: container.workingDir,
    envs: Array.from(inputs.environment, ([key, value]) => ({
      key,
      value: encoder.encode(value),
    })),
    mounts: runtimeMounts(inputs, settings.seLinux !== undefined),
    devices: inputs.devices ?? [],
    CDIDevices: inputs.cdiDevices ?? [],
    labels: containerLabels(pod, container),
    annotations: {
      ...inputs.deviceAnnotations,
      ...containerAnnotations(pod, container, restartCount),
    },
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin,
    stdinOnce: container.stdinOnce,
    tty: container.tty,
    linux: {
      resources: placedResources(inputs, settings),
      securityContext: withTarget(securityContext.value, inputs.targetContainerId),
    },
    ...(settings.containerStopSignals ? stopSignalOf(inputs) : {}),
  });
}

function placedResources(
  { pod, container, place }: ContainerInputs,
  settings: RuntimeSettings,
): LinuxContainerResources {
  const { hasExclusiveCpus = false, cpusetCpus = "", cpusetMems = "" } = place ?? {};
  return {
    ...containerResources(pod, container, hasExclusiveCpus, settings),
    ...(cpusetCpus === "" ? {} : { cpusetCpus }),
    ...(cpusetMems === "" ? {} : { cpusetMems }),
  };
}

/** Processes of another container can only be seen where the pod does not share them anyway. */
function withTarget(
  context: LinuxContainerSecurityContext,
  targetId: string | undefined,
): LinuxContainerSecurityContext {
  const options = context.namespaceOptions;
  if (targetId === undefined || options?.pid !== NamespaceMode.CONTAINER) return context;
  return { ...context, namespaceOptions: { ...options, pid: NamespaceMode.TARGET, targetId } };
}

function runtimeMounts(inputs: ContainerInputs, selinuxEnabled: boolean): Mount[] {
  const { container, terminationLogPath, userNamespace } = inputs;
  const messagePath = container.terminationMessagePath ?? "";
  const mounts: Mount[] = inputs.mounts.map((mount) => ({
    containerPath: mount.containerPath,
    hostPath: mount.hostPath,
    readonly: mount.readonly,
    selinuxRelabel: mount.selinuxRelabel === true && selinuxEnabled,
    propagation: mount.propagation,
    recursiveReadOnly: mount.recursiveReadOnly,
    image: mount.image,
    imageSubPath: mount.imageSubPath,
  }));
  if (terminationLogPath !== undefined && messagePath !== "") {
    mounts.push({
      hostPath: terminationLogPath,
      containerPath: cleanPath(`/${messagePath}`),
      selinuxRelabel: selinuxEnabled,
    });
  }
  if (userNamespace === undefined) return mounts;
  const { uids, gids } = userNamespace;
  return mounts.map((mount) => ({ ...mount, uidMappings: uids, gidMappings: gids }));
}

function stopSignalOf({ container }: ContainerInputs): Pick<ContainerConfig, "stopSignal"> {
  const name = container.lifecycle?.stopSignal;
  return name === undefined ? {} : { stopSignal: stopSignal(name) };
}
