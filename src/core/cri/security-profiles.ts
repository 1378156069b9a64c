import { quoteText } from "../../lib/go-text.ts";
import { joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type SecurityProfile, SecurityProfile_ProfileType } from "../../model/generated/cri.ts";
import type { AppArmorProfile } from "../../model/generated/kubernetes.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import type { RuntimeSettings } from "./runtime-settings.ts";

export const appArmorAnnotationPrefix = "container.apparmor.security.beta.kubernetes.io/";
const appArmorRuntimeDefault = "runtime/default";
const appArmorUnconfined = "unconfined";
const appArmorLocalhostPrefix = "localhost/";

const runtimeDefault: SecurityProfile = { profileType: SecurityProfile_ProfileType.RuntimeDefault };
const unconfined: SecurityProfile = { profileType: SecurityProfile_ProfileType.Unconfined };

/** The system calls that a container may make: its own profile, else the pod's, else the node's default. */
export function seccompProfile(
  pod: Pod,
  container: AnyContainer,
  settings: Pick<RuntimeSettings, "seccompProfileRoot" | "seccompDefault">,
): Result<SecurityProfile, string> {
  const profile =
    container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  if (profile === undefined) return ok(settings.seccompDefault ? runtimeDefault : unconfined);
  if (profile.type === "RuntimeDefault") return ok(runtimeDefault);
  if (profile.type !== "Localhost") return ok(unconfined);
  const { localhostProfile = "" } = profile;
  if (localhostProfile === "") {
    return err("localhostProfile must be set if seccompProfile type is Localhost.");
  }
  return ok({
    profileType: SecurityProfile_ProfileType.Localhost,
    localhostRef: joinPath(settings.seccompProfileRoot, localhostProfile),
  });
}

/** The AppArmor profile, also by the name that runtimes before the typed field understand. */
export interface AppArmor {
  readonly apparmor: SecurityProfile;
  readonly apparmorProfile: string;
}

export function appArmorProfile(
  pod: Pod,
  container: AnyContainer,
): Result<AppArmor | undefined, string> {
  const profile = effectiveAppArmor(pod, container);
  if (profile === undefined) return ok(undefined);
  switch (profile.type) {
    case "RuntimeDefault":
      return ok({ apparmor: runtimeDefault, apparmorProfile: appArmorRuntimeDefault });
    case "Unconfined":
      return ok({ apparmor: unconfined, apparmorProfile: appArmorUnconfined });
    case "Localhost":
      return localhostAppArmor(profile.localhostProfile);
    default:
      return err(`unknown apparmor profile type: ${quoteText(profile.type)}`);
  }
}

/** The profile that a container asks for, itself or through its pod. */
export function effectiveAppArmor(pod: Pod, container: AnyContainer): AppArmorProfile | undefined {
  return (
    container.securityContext?.appArmorProfile ??
    // Static pods are not converted from annotations to fields by an API server.
    annotatedAppArmor(pod, container.name) ??
    pod.spec.securityContext?.appArmorProfile
  );
}

function localhostAppArmor(name: string | undefined): Result<AppArmor, string> {
  if (name === undefined) return err("missing localhost apparmor profile name");
  // Admission refuses it, but only of pods that have not started: runtimes take no name for no profile.
  if (name.trim() === "") return err("invalid empty AppArmor profile name");
  return ok({
    apparmor: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: name },
    apparmorProfile: appArmorLocalhostPrefix + name,
  });
}

function annotatedAppArmor(pod: Pod, containerName: string): AppArmorProfile | undefined {
  const value = pod.metadata.annotations?.[appArmorAnnotationPrefix + containerName];
  if (value === appArmorRuntimeDefault) return { type: "RuntimeDefault" };
  if (value === appArmorUnconfined) return { type: "Unconfined" };
  if (value?.startsWith(appArmorLocalhostPrefix) !== true) return undefined;
  return { type: "Localhost", localhostProfile: value.slice(appArmorLocalhostPrefix.length) };
}
