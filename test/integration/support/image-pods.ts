import type { ContainerStateWaiting } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./agent-manifests.ts";
import { registryUser } from "./registry.ts";

interface ImagePod {
  readonly name: string;
  readonly image: string;
  readonly policy?: string;
  readonly pullSecrets?: readonly string[];
}

/** The manifest of a pod whose container "main" runs an image until it is stopped. */
export function imagePod({ name, image, policy, pullSecrets = [] }: ImagePod): string {
  const imagePullPolicy = policy ?? "IfNotPresent";
  return podManifest(name, {
    containers: [shell("main", untilStopped, { image, imagePullPolicy })],
    imagePullSecrets: pullSecrets.map((secret) => ({ name: secret })),
  });
}

/** The manifest of a pull secret for a registry. */
export function pullSecret(name: string, address: string, password: string): string {
  const auth = Buffer.from(`${registryUser.username}:${password}`).toString("base64");
  const config = JSON.stringify({ auths: { [address]: { auth } } });
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(config).toString("base64") },
  });
}

/** Why the pod's container "main" waits. */
export function waitingOf({ status }: Pod): ContainerStateWaiting | undefined {
  return status?.containerStatuses?.[0]?.state?.waiting;
}

export function isRunning({ status }: Pod): boolean {
  return status?.containerStatuses?.[0]?.state?.running !== undefined;
}
