import {
  NamespaceMode,
  type NamespaceOption,
  type UserNamespace,
} from "../../model/generated/cri.ts";
import type { Pod } from "../../model/pod.ts";

/** Which namespaces of the node, the pod or the container itself a pod's processes live in. */
export function podNamespaces(
  { spec }: Pod,
  userNamespace: UserNamespace | undefined,
): NamespaceOption {
  return {
    ipc: spec.hostIPC === true ? NamespaceMode.NODE : NamespaceMode.POD,
    network: spec.hostNetwork === true ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: pidNamespace(spec),
    usernsOptions: userNamespace,
  };
}

function pidNamespace({ hostPID, shareProcessNamespace }: Pod["spec"]): NamespaceMode {
  if (hostPID === true) return NamespaceMode.NODE;
  return shareProcessNamespace === true ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}
