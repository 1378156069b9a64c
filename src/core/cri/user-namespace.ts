import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import {
  NamespaceMode,
  type RuntimeHandler,
  type UserNamespace,
} from "../../model/generated/cri.ts";

/** Users of the node that follow one another. */
export interface UserRange {
  readonly firstId: number;
  readonly length: number;
}

/** The users of the node that pods in user namespaces get, and how many each. */
export interface PodUserSettings extends UserRange {
  readonly perPod: number;
}

export const usualUsersPerPod = 65_536;

/** All users of the node but its own: as many of the first as a pod gets. */
export function usersBeyondTheNodes(perPod: number): PodUserSettings {
  return { firstId: perPod, length: 2 ** 32 - perPod, perPod };
}

/** Why pods cannot be given users so; undefined when they can. */
export function podUserSettingsProblem(
  { firstId, length, perPod }: PodUserSettings,
  maxPods: number,
): string | undefined {
  if (firstId < perPod)
    return `kubelet user assigned ID ${firstId} must be greater or equal to ${perPod}`;
  if (firstId % perPod !== 0)
    return `kubelet user assigned ID ${firstId} is not a multiple of ${perPod}`;
  if (length % perPod !== 0) {
    return `kubelet user assigned IDs length ${length} is not a multiple of ${perPod}`;
  }
  return length / perPod < maxPods
    ? `kubelet user assigned IDs are not enough to support ${maxPods} pods`
    : undefined;
}

/** The one range that getsubids shows, as "0: kubelet 65536 2147483648". */
export function parseSubordinateIds(output: string): Result<UserRange, string> {
  const lines = output.split("\n").filter((line) => line !== "");
  const [line = ""] = lines;
  if (lines.length !== 1) return err(`one range is needed, and it shows ${lines.length}`);
  const [, , first = "", count = "", ...more] = line.split(/\s+/);
  const [firstId, length] = [parseId(first), parseId(count)];
  if (firstId === undefined || length === undefined || more.length > 0) {
    return err(`${quoteText(line)} is not a range of IDs`);
  }
  return ok({ firstId, length });
}

function parseId(text: string): number | undefined {
  const id = /^\d{1,10}$/.test(text) ? Number(text) : 2 ** 32;
  return id < 2 ** 32 ? id : undefined;
}

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

/** The users of a pod; its root is the first of them. */
export function podUsers({ firstId, length }: UserRange): UserNamespace {
  const mappings = [{ hostId: firstId, containerId: 0, length }];
  return { mode: NamespaceMode.POD, uids: mappings, gids: mappings };
}

/** The first users of the node that no pod has. */
export function nextFreeUsers(
  taken: readonly UserRange[],
  { firstId, length, perPod }: PodUserSettings,
): UserRange | undefined {
  for (let id = firstId; id + perPod <= firstId + length; id += perPod) {
    const isTaken = taken.some(
      (other) => id < other.firstId + other.length && other.firstId < id + perPod,
    );
    if (!isTaken) return { firstId: id, length: perPod };
  }
  return undefined;
}

/** Why a pod cannot keep the users that it had; undefined when it can. */
export function keptUsersProblem(
  users: UserRange,
  { firstId, length, perPod }: PodUserSettings,
): string | undefined {
  if (users.length !== perPod) return `wrong user namespace length ${users.length}`;
  if (users.firstId % perPod !== 0) {
    return `wrong user namespace offset specified ${users.firstId}`;
  }
  const isInRange = users.firstId >= firstId && users.firstId < firstId + length;
  return isInRange ? undefined : `id ${users.firstId} is out of range`;
}

/** The text of the file in which a pod's users are remembered. */
export function formatPodUsers(users: UserRange): string {
  const { uids, gids } = podUsers(users);
  return JSON.stringify({ uidMappings: uids, gidMappings: gids });
}

const usersFile =
  /^\{"uidMappings":(\[\{"hostId":(\d{1,10}),"containerId":0,"length":(\d{1,10})\}\]),"gidMappings":\1\}$/;

/** Reads that file. */
export function parsePodUsers(text: string): Result<UserRange, string> {
  const match = usersFile.exec(text.trim());
  if (match === null) return err("invalid user namespace mappings file");
  return ok({ firstId: Number(match[2]), length: Number(match[3]) });
}
