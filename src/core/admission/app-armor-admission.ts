import { quoteText } from "../../lib/go-text.ts";
import type { AppArmorProfile } from "../../model/generated/kubernetes.ts";
import { type Pod, podContainers } from "../../model/pod.ts";
import { appArmorAnnotationPrefix, effectiveAppArmor } from "../cri/security-profiles.ts";
import { type AdmissionResult, admitted, rejected } from "./admission.ts";

/** Whether the node can confine a pod as it asks. A pod that has already started is not asked again. */
export function admitAppArmor(pod: Pod, isEnabledOnHost: boolean): AdmissionResult {
  if (pod.status?.phase !== "Pending" || !wantsAppArmor(pod)) return admitted;
  if (!isEnabledOnHost) return refusal("AppArmor is not enabled on the host");
  for (const { container } of podContainers(pod)) {
    const profile = effectiveAppArmor(pod, container);
    if (profile?.type === "Localhost" && (profile.localhostProfile ?? "").trim() === "") {
      return refusal(`invalid empty AppArmor profile name: ${quoteText(profileText(profile))}`);
    }
  }
  return admitted;
}

function wantsAppArmor(pod: Pod): boolean {
  return (
    confines(pod.spec.securityContext?.appArmorProfile) ||
    podContainers(pod).some(({ container }) =>
      confines(container.securityContext?.appArmorProfile),
    ) ||
    Object.entries(pod.metadata.annotations ?? {}).some(
      ([key, value]) => key.startsWith(appArmorAnnotationPrefix) && value !== "unconfined",
    )
  );
}

function confines(profile: AppArmorProfile | undefined): boolean {
  return profile !== undefined && profile.type !== "Unconfined";
}

function profileText({ type, localhostProfile }: AppArmorProfile): string {
  const name = localhostProfile === undefined ? "nil" : `*${localhostProfile}`;
  return `&AppArmorProfile{Type:${type},LocalhostProfile:${name},}`;
}

function refusal(why: string): AdmissionResult {
  return rejected("AppArmor", `Cannot enforce AppArmor: ${why}`);
}
