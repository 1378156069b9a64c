import type { RuntimeSettings } from "../../core/cri/runtime-settings.ts";
import {
  formatPodUsers,
  keptUsersProblem,
  nextFreeUsers,
  nodeUsers,
  parsePodUsers,
  podUsers,
  type UserRange,
  userNamespaceProblem,
} from "../../core/cri/user-namespace.ts";
import { podDirectory, podsDirectory } from "../../core/paths/data-paths.ts";
import { KeyedTurns } from "../../lib/keyed-turns.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { UserNamespace } from "../../model/generated/cri.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { RuntimeFacts } from "../execute/runtime-facts.ts";

export interface UserNamespacesDeps {
  readonly files: Pick<HostFiles, "list" | "readText" | "writeFile">;
  readonly rootFolder: string;
  readonly settings: { readonly runtimeSettings: Pick<RuntimeSettings, "podUsers"> };
  readonly runtimeFacts: Pick<RuntimeFacts, "readHandlers">;
}

/** Gives pods users of their own. A file in each pod's folder says which; they are free when the folder is gone. */
export class UserNamespaces {
  readonly #deps: UserNamespacesDeps;
  readonly #turns = new KeyedTurns();

  constructor(deps: UserNamespacesDeps) {
    this.#deps = deps;
  }

  /** The users of a pod that runs on that handler: always the same, also after a restart of the agent. */
  async of(pod: Pod, handler: string): Promise<Result<UserNamespace, string>> {
    if (pod.spec.hostUsers !== false) return ok(nodeUsers);
    const problem = userNamespaceProblem(handler, await this.#deps.runtimeFacts.readHandlers());
    if (problem !== undefined) return err(problem);
    // One at a time, so that no two pods choose the same.
    const chosen = await this.#turns.run("users", () => this.#choose(pod.metadata.uid));
    return chosen.ok ? ok(podUsers(chosen.value)) : chosen;
  }

  async #choose(uid: PodUid): Promise<Result<UserRange, string>> {
    const { files, rootFolder, settings } = this.#deps;
    const { podUsers: all } = settings.runtimeSettings;
    const known = await this.#read(uid);
    if (known !== undefined) {
      const problem = known.ok ? keptUsersProblem(known.value, all) : known.error;
      return known.ok && problem === undefined ? known : err(`user namespace: ${problem}`);
    }
    const taken: UserRange[] = [];
    for (const other of await files.list(podsDirectory(rootFolder))) {
      const users = await this.#read(podUid(other));
      if (users?.ok === true) taken.push(users.value);
    }
    const free = nextFreeUsers(taken, all);
    if (free === undefined) {
      return err(
        "create user namespace: could not find an empty slot to allocate a user namespace",
      );
    }
    await files.writeFile(this.#path(uid), formatPodUsers(free), 0o600);
    return ok(free);
  }

  async #read(uid: PodUid): Promise<Result<UserRange, string> | undefined> {
    const text = await this.#deps.files.readText(this.#path(uid));
    return text === undefined || text === "" ? undefined : parsePodUsers(text);
  }

  #path(uid: PodUid): string {
    return `${podDirectory(this.#deps.rootFolder, uid)}/userns`;
  }
}
