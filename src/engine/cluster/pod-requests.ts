import { isApiStatus } from "../../model/api-error.ts";
import type { PodUid } from "../../model/ids.ts";

/** The body that makes the API server forget a pod without waiting, if it is the one with that UID. */
export function deleteAtOnce(uid: PodUid): object {
  return {
    kind: "DeleteOptions",
    apiVersion: "v1",
    gracePeriodSeconds: 0,
    preconditions: { uid },
  };
}

/** The answer, or undefined when it is an error with one of these statuses. */
export async function unlessStatus<T>(
  statuses: readonly number[],
  answer: Promise<T>,
): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (statuses.some((status) => isApiStatus(error, status))) return undefined;
    throw error;
  }
}

/** Paths of the API server's resources; every name is encoded. */
export function podPath(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  subresource?: string,
): string {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

export function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}
