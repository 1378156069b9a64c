import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import {
  NamespaceMode,
  type RuntimeHandler,
  type UserNamespace,
} from "../../model/generated/cri.ts";

/** As many users as a pod may have. */
const usersPerPod = 65_536;

/** What pods have that share the node's users. */
export const nodeUsers: UserNamespace = { mode: NamespaceMode.NODE };

/** Why a pod cannot have users of its own; `handler` is "" for the runtime's default. */
export function userNamespaceProblem(
  handler: string,
  known: readonly RuntimeHandler[],
): string | undefined {
  const found = known.find(({ name = "" }) => name === handler);
  if (found?.features?.userNamespaces === true) return undefined;
  const what =
    handler === ""
      ? "runtime does not support user namespaces"
      : `RuntimeClass handler ${quoteText(handler)} does not support user namespaces`;
  // A runtime of before user namespaces names no handlers at all.
  const isUnknown = known.length > 0 && found === undefined;
  const why = isUnknown ? `: the handler ${quoteText(handler)} is not known` : "";
  return `can't set \`spec.hostUsers: false\`, ${what}${why}`;
}

/** The users of a pod, whose root is that user of the node. */
export function podUsers(firstId: number): UserNamespace {
  const mappings = [{ hostId: firstId, containerId: 0, length: usersPerPod }];
  return { mode: NamespaceMode.POD, uids: mappings, gids: mappings };
}

/** The first users of the node that no pod has; never the node's own. */
export function nextFreeUsers(taken: ReadonlySet<number>, maxPods: number): number | undefined {
  for (let index = 1; index <= maxPods; index++) {
    if (!taken.has(index * usersPerPod)) return index * usersPerPod;
  }
  return undefined;
}

/** The text of the file in which a pod's users are remembered. */
export function formatPodUsers(firstId: number): string {
  const { uids, gids } = podUsers(firstId);
  return JSON.stringify({ uidMappings: uids, gidMappings: gids });
}

/** Reads that file: the node's user that is the pod's root. */
export function parsePodUsers(text: string): Result<number, string> {
  const match =
    /^\{"uidMappings":(\[\{"hostId":(\d+),"containerId":0,"length":65536\}\]),"gidMappings":\1\}$/.exec(
      text.trim(),
    );
  const firstId = Number(match?.[2]);
  if (match === null || firstId < usersPerPod || firstId % usersPerPod !== 0) {
    return err("invalid user namespace mappings file");
  }
  return ok(firstId);
}
