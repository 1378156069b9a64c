import {
  type DockerConfigFile,
  dockerConfigLogins,
  type RegistryLogin,
} from "../../core/image/docker-config.ts";
import { errorText } from "../../lib/error-text.ts";
import { ExpiringCache } from "../../lib/expiring-cache.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";

export interface NodeLoginsDeps {
  /** The first that is there and can be used counts. */
  readonly candidates: readonly DockerConfigFile[];
  readonly files: Pick<HostFiles, "readText">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
}

const keptMs = 5 * 60_000;

/** The registry logins of Docker's config files on the node, which every pod may pull with. */
export class NodeLogins {
  readonly #deps: NodeLoginsDeps;
  readonly #kept: ExpiringCache<readonly RegistryLogin[]>;

  constructor(deps: NodeLoginsDeps) {
    this.#deps = deps;
    this.#kept = new ExpiringCache(() => deps.clock.monotonicMs(), 1);
  }

  logins(): Promise<readonly RegistryLogin[]> {
    return this.#kept.get("all", async () => ({ value: await this.#read(), keepMs: keptMs }));
  }

  async #read(): Promise<readonly RegistryLogin[]> {
    const { candidates, files, log } = this.#deps;
    for (const { path, format } of candidates) {
      try {
        const text = await files.readText(path);
        if (text === undefined) continue;
        const found = dockerConfigLogins(format, text);
        if (found.ok) return found.value;
        log.warn("the node's registry logins cannot be used", { path, error: found.error });
      } catch (error) {
        log.warn("the node's registry logins cannot be read", { path, error: errorText(error) });
      }
    }
    return [];
  }
}
