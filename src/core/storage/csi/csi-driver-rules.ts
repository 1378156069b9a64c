// What a CSIDriver object says about the volumes of its driver. The object is optional: undefined = there is none.
import { jsonText, quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { formatTime } from "../../../lib/time.ts";
import type { CSIDriver } from "../../../model/generated/kubernetes.ts";
import type { Pod } from "../../../model/pod.ts";
import type {
  ServiceAccountToken,
  ServiceAccountTokenRequest,
} from "../../../model/service-account-token.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { csiText, type LifecycleMode } from "./csi-source.ts";

type Texts = Readonly<Record<string, string>>;

/** Whether a controller attaches the driver's volumes before they are mounted. */
export function requiresAttach(driver: CSIDriver | undefined): boolean {
  return driver?.spec.attachRequired !== false;
}

/** Whether volumes are published again at every sync of their pods. */
export function requiresRepublish(driver: CSIDriver | undefined): boolean {
  return driver?.spec.requiresRepublish === true;
}

/** Whether the driver mounts volumes with an SELinux context. */
export function mountsSeLinuxContext(driver: CSIDriver | undefined): boolean {
  return driver?.spec.seLinuxMount === true;
}

/** Why the driver does not serve volumes of that mode; undefined when it does. */
export function lifecycleModeProblem(
  driver: CSIDriver | undefined,
  driverName: string,
  mode: LifecycleMode,
): string | undefined {
  const refused = `volume mode ${quoteText(mode)} not supported by driver ${driverName}`;
  if (driver === undefined) {
    return mode === "Persistent" ? undefined : `${refused} (no CSIDriver object)`;
  }
  const modes = driver.spec.volumeLifecycleModes ?? [];
  if (modes.includes(mode)) return undefined;
  return `${refused} (only supports [${modes.map(quoteText).join(" ")}])`;
}

/** How the driver wants files to be given to a pod's fsGroup. */
export function fsGroupPolicy(driver: CSIDriver | undefined): Result<string, string> {
  if (driver === undefined) return ok("ReadWriteOnceWithFSType");
  const { fsGroupPolicy: policy = "" } = driver.spec;
  if (policy !== "") return ok(policy);
  return err(csiText("expected valid fsGroupPolicy, received nil value or empty string"));
}

/** Whether the agent itself gives the volume's files to the pod's group. */
export function appliesFsGroup(
  policy: string,
  volume: { readonly spec: VolumeSpec; readonly fsType: string; readonly readOnly: boolean },
): boolean {
  if (policy === "None" || volume.readOnly) return false;
  if (policy === "File") return true;
  if (volume.fsType === "") return false;
  const { spec } = volume;
  if (spec.source === "inline") return true;
  const modes = spec.persistentVolume.spec?.accessModes ?? [];
  return modes.some((mode) => mode === "ReadWriteOnce" || mode === "ReadWriteOncePod");
}

/** What a driver with podInfoOnMount receives about the pod. */
export function podInfoContext(
  driver: CSIDriver | undefined,
  { metadata, spec }: Pod,
  mode: LifecycleMode,
): Texts {
  if (driver?.spec.podInfoOnMount !== true) return {};
  return {
    "csi.storage.k8s.io/pod.name": metadata.name,
    "csi.storage.k8s.io/pod.namespace": metadata.namespace,
    "csi.storage.k8s.io/pod.uid": metadata.uid,
    "csi.storage.k8s.io/serviceAccount.name": spec.serviceAccountName ?? "",
    "csi.storage.k8s.io/ephemeral": String(mode === "Ephemeral"),
  };
}

/** The tokens that the driver wants of the pod's service account. */
export function driverTokenRequests(
  driver: CSIDriver | undefined,
  { metadata, spec }: Pod,
): readonly { readonly audience: string; readonly request: ServiceAccountTokenRequest }[] {
  return (driver?.spec.tokenRequests ?? []).map(({ audience, expirationSeconds }) => ({
    audience,
    request: {
      namespace: metadata.namespace,
      name: spec.serviceAccountName ?? "",
      spec: {
        audiences: audience === "" ? [] : [audience],
        expirationSeconds,
        boundObjectRef: {
          apiVersion: "v1",
          kind: "Pod",
          name: metadata.name,
          uid: metadata.uid,
        },
      },
    },
  }));
}

/** Tokens by audience as drivers read them: one value with all of them. Empty without tokens. */
export function tokenContext(tokens: ReadonlyMap<string, ServiceAccountToken>): Texts {
  if (tokens.size === 0) return {};
  const byAudience = [...tokens]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([audience, { token, expiresAtMs }]) => {
      const status = { token, expirationTimestamp: formatTime(expiresAtMs) };
      return `${jsonText(audience)}:${jsonText(status)}`;
    });
  return { "csi.storage.k8s.io/serviceAccount.tokens": `{${byAudience.join(",")}}` };
}
