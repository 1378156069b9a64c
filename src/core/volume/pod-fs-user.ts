import { type Pod, podContainers } from "../../model/pod.ts";

/** The user that all containers of a pod run as; undefined when they differ or one does not say. */
export function podFsUser(pod: Pod): number | undefined {
  const users = new Set(
    podContainers(pod).map(
      ({ container }) =>
        container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser,
    ),
  );
  const [user] = users;
  return users.size === 1 ? user : undefined;
}
