import {
  NamespaceMode,
  type PodSandbox,
  type PodSandboxConfig,
  PodSandboxState,
  type PodSandboxStatus,
} from "../../model/generated/cri.ts";

/** A simulated sandbox. */
export interface SimSandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAt: bigint;
  readonly ip: string;
  isReady: boolean;
}

export function usesNodeNetwork({ linux }: PodSandboxConfig): boolean {
  return linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
}

/** The name that no two sandboxes share. */
export function sandboxName({ metadata }: PodSandboxConfig): string {
  const { name, namespace, uid, attempt } = metadata ?? {};
  return `${name}_${namespace}_${uid}_${attempt}`;
}

export function listedSandbox(sandbox: SimSandbox): PodSandbox {
  const { id, config, runtimeHandler, createdAt } = sandbox;
  const { metadata, labels, annotations } = config;
  return { id, metadata, state: stateOf(sandbox), createdAt, labels, annotations, runtimeHandler };
}

export function sandboxStatus(sandbox: SimSandbox): PodSandboxStatus {
  const options = sandbox.config.linux?.securityContext?.namespaceOptions ?? {};
  return {
    ...listedSandbox(sandbox),
    network: { ip: sandbox.isReady ? sandbox.ip : "" },
    linux: { namespaces: { options } },
  };
}

function stateOf({ isReady }: SimSandbox): PodSandboxState {
  return isReady ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}
