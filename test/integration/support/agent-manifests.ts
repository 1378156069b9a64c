import type { Container, PodSpec } from "../../../src/model/generated/kubernetes.ts";

/** Ends at once on SIGTERM. */
export const untilStopped = "trap 'exit 0' TERM; sleep 3600 & wait";

/** A container of busybox that runs a shell script. */
export function shell(name: string, script: string, more: Partial<Container> = {}): Container {
  return {
    name,
    image: "busybox:latest",
    imagePullPolicy: "IfNotPresent",
    command: ["sh", "-c", script],
    ...more,
  };
}

/** The text of a pod's manifest; one container "main" that runs until it is stopped, unless the spec says more. */
export function podManifest(name: string, spec: Partial<PodSpec> = {}): string {
  const whole: PodSpec = {
    containers: [shell("main", untilStopped)],
    terminationGracePeriodSeconds: 20,
    ...spec,
  };
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec: whole });
}
