import type { Pod } from "../../model/pod.ts";
import { dottedSysctl } from "../../model/sysctl-name.ts";

/** The pod with its kernel parameters named as the runtime knows them. */
export function withDottedSysctls(pod: Pod): Pod {
  const { securityContext } = pod.spec;
  if (securityContext?.sysctls === undefined) return pod;
  const sysctls = securityContext.sysctls.map((sysctl) => ({
    ...sysctl,
    name: dottedSysctl(sysctl.name),
  }));
  return { ...pod, spec: { ...pod.spec, securityContext: { ...securityContext, sysctls } } };
}
