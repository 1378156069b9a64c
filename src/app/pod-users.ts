// Which users of the node pods in user namespaces get, by a kubelet's configuration and the user `kubelet`.
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import {
  type PodUserSettings,
  parseSubordinateIds,
  podUserSettingsProblem,
  usersBeyondTheNodes,
  usualUsersPerPod,
} from "../core/cri/user-namespace.ts";
import { CommandError } from "../lib/command-error.ts";
import { quoteText } from "../lib/go-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { Commands } from "../ports/commands.ts";

const user = "kubelet";
const timeoutMs = 30_000;
/** How getent says that there is no such user. */
const notFound = 2;

/**
 * The subordinate IDs of the user `kubelet`, where there is one and getsubids is installed; otherwise all but the node's own.
 * Throws a SetupError where they do not do for the pods of the node: a user that is there is expected to have a range.
 */
export async function kubeletPodUsers(
  { userNamespaces, maxPods }: Pick<KubeletConfiguration, "userNamespaces" | "maxPods">,
  commands: Commands,
  signal: AbortSignal,
): Promise<PodUserSettings> {
  const perPod = userNamespaces?.idsPerPod ?? usualUsersPerPod;
  const range = await subordinateIds(commands, signal);
  const users = range === undefined ? usersBeyondTheNodes(perPod) : { ...range, perPod };
  const problem = podUserSettingsProblem(users, maxPods);
  if (problem === undefined) return users;
  throw new SetupError(
    `user namespaces: ${problem}`,
    range === undefined
      ? "correct userNamespaces.idsPerPod or maxPods"
      : `correct userNamespaces.idsPerPod, maxPods, or the range of ${user} in /etc/subuid and /etc/subgid`,
  );
}

async function subordinateIds(commands: Commands, signal: AbortSignal) {
  // getsubids alone does not say whether the user is missing, or a server that knows its range does not answer.
  const found = await run(commands, ["getent", "passwd", user], signal);
  if (found === undefined || found.exitCode === notFound) return undefined;
  const uids = await run(commands, ["getsubids", user], signal);
  if (uids === undefined) return undefined;
  const gids = await run(commands, ["getsubids", "-g", user], signal);
  if (uids.exitCode !== 0) throw unusable(`getsubids ${user} failed: ${uids.output.trim()}`);
  if (gids?.exitCode !== 0) throw unusable(`getsubids -g ${user} failed: ${gids?.output.trim()}`);
  if (uids.output !== gids.output) {
    throw unusable(
      `subordinate users and groups of ${user} differ: ${quoteText(uids.output)} and ${quoteText(gids.output)}`,
    );
  }
  const range = parseSubordinateIds(uids.output);
  if (!range.ok) throw unusable(`getsubids ${user}: ${range.error}`);
  return range.value;
}

/** Undefined when the program is not installed. */
async function run(commands: Commands, argv: readonly string[], signal: AbortSignal) {
  try {
    return await commands.run(argv, { timeoutMs }, signal);
  } catch (error) {
    if (error instanceof CommandError && error.reason === "not-found") return undefined;
    throw error;
  }
}

function unusable(problem: string): SetupError {
  return new SetupError(
    `user namespaces: ${problem}`,
    `give the user ${user} one range, the same in /etc/subuid and /etc/subgid, or remove the user`,
  );
}
