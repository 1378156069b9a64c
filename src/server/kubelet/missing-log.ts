import { quoteText } from "../../lib/go-text.ts";
import type { Pod } from "../../model/pod.ts";

const pullReasons: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: "trying and failing to pull image",
};

/** Why there is no log of a container, in the kubelet's words. */
export function explainMissingLog(pod: Pod, container: string, previous: boolean): string {
  const { status } = pod;
  const of = `container ${quoteText(container)} in pod ${quoteText(pod.metadata.name)}`;
  const found = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find(({ name }) => name === container);
  if (found === undefined) return `${of} is not available`;
  if (previous) return `previous terminated ${of} not found`;
  const { running, terminated, waiting } = found.state ?? {};
  if (running !== undefined) return `the log of ${of} is gone`;
  if (terminated !== undefined || found.lastState?.terminated !== undefined) {
    return `${of} is terminated`;
  }
  if (waiting === undefined) return `${of} is waiting to start - no logs yet`;
  const { reason = "" } = waiting;
  return `${of} is waiting to start: ${pullReasons[reason] ?? reason}`;
}
