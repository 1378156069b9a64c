import type { ObjectMeta, PodSpec } from "../../../src/model/generated/kubernetes.ts";

export const deploymentsPath = "/apis/apps/v1/namespaces/default/deployments";
export const jobsPath = "/apis/batch/v1/namespaces/default/jobs";

/** What the tests read of a deployment. */
export interface Deployment {
  readonly metadata?: ObjectMeta;
  readonly status?: { readonly availableReplicas?: number };
}

/** What the tests read of a job. */
export interface Job {
  readonly metadata?: ObjectMeta;
  readonly status?: { readonly succeeded?: number; readonly failed?: number };
}

/** Pods labelled app=NAME; an update starts a new one before it ends an old one. */
export function deployment(name: string, replicas: number, spec: PodSpec): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      ...podsNamed(name, spec),
    },
  };
}

export function daemonSet(name: string, spec: PodSpec): object {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name },
    spec: podsNamed(name, spec),
  };
}

/** All of its pods at once; each gets a claim of each template. */
export function statefulSet(
  name: string,
  replicas: number,
  spec: PodSpec,
  volumeClaimTemplates: readonly object[],
): object {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name },
    spec: {
      replicas,
      serviceName: name,
      podManagementPolicy: "Parallel",
      volumeClaimTemplates,
      ...podsNamed(name, spec),
    },
  };
}

export function job(name: string, spec: PodSpec): object {
  const template = { metadata: { labels: { app: name } }, spec };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name },
    spec: { backoffLimit: 4, template },
  };
}

function podsNamed(name: string, spec: PodSpec): object {
  const labels = { app: name };
  return { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } };
}
