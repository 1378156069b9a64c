import { findContainer, type Pod, podContainers } from "../model/pod.ts";
import { HttpError } from "./http-error.ts";

/** The container that a request names, or the only one there is. */
export function chooseContainer(pod: Pod, query: URLSearchParams): string {
  const { name } = pod.metadata;
  const wanted = query.get("container") ?? "";
  if (wanted !== "") {
    if (findContainer(pod, wanted) !== undefined) return wanted;
    throw new HttpError("BadRequest", `container ${wanted} is not valid for pod ${name}`);
  }
  const names = podContainers(pod).map(({ container }) => container.name);
  const only = names[0];
  if (only !== undefined && names.length === 1) return only;
  throw new HttpError(
    "BadRequest",
    `a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]`,
  );
}
