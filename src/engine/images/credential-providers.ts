import {
  type CredentialProvider,
  credentialRequest,
  isEcho,
  isProviderOf,
  parseCredentialAnswer,
} from "../../core/image/credential-provider.ts";
import type { RegistryLogin } from "../../core/image/docker-config.ts";
import {
  type AccountIdentity,
  answerOwner,
  requestOwner,
} from "../../core/image/token-attributes.ts";
import { errorText } from "../../lib/error-text.ts";
import { forgetOldest } from "../../lib/forget-oldest.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { CredentialPlugins } from "../../ports/credential-plugins.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { AgentPorts } from "../agent/agent-ports.ts";
import { AccountIdentities, type AccountIdentitiesDeps } from "./account-identities.ts";
import type { NodeLogin } from "./pull-credentials.ts";

export interface CredentialProvidersDeps extends AccountIdentitiesDeps, Pick<AgentPorts, "sha256"> {
  readonly providers: readonly CredentialProvider[];
  readonly plugins: CredentialPlugins;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Ends with the agent. */
  readonly lifetime: AbortSignal;
}

/** Pods choose the images that are asked for. */
const maxCached = 1_000;

interface Question {
  readonly provider: CredentialProvider;
  readonly repository: string;
  /** Undefined = the answer is for every pod. */
  readonly identity?: AccountIdentity | undefined;
}

interface CachedLogins {
  readonly logins: readonly RegistryLogin[];
  readonly untilMs: number;
}

/** Asks the configured programs for registry logins, and keeps their answers as long as they hold. */
export class CredentialProviders {
  readonly #deps: CredentialProvidersDeps;
  readonly #identities: AccountIdentities;
  readonly #cache = new Map<string, CachedLogins>();
  readonly #flights = new Map<string, Promise<readonly RegistryLogin[]>>();

  constructor(deps: CredentialProvidersDeps) {
    this.#deps = deps;
    this.#identities = new AccountIdentities(deps);
  }

  /** A program that fails gives no logins: the pull is tried without. Rejects only when `signal` aborts. */
  async logins(repository: string, pod: Pod, signal: AbortSignal): Promise<readonly NodeLogin[]> {
    const asked = this.#deps.providers.filter((provider) => isProviderOf(provider, repository));
    const answers = asked.map((provider) => this.#askFor(pod, { provider, repository }, signal));
    return (await untilAborted(Promise.all(answers), signal)).flat();
  }

  /** In the name of the pod's service account, where the provider wants that. */
  async #askFor(
    pod: Pod,
    { provider, repository }: Pick<Question, "provider" | "repository">,
    signal: AbortSignal,
  ): Promise<readonly NodeLogin[]> {
    const { log } = this.#deps;
    const { name, tokenAttributes } = provider;
    if (tokenAttributes === undefined) return await this.#ask({ provider, repository });
    const asker = await this.#identities.askerOf(pod, tokenAttributes, signal);
    const fields = { provider: name, image: repository, pod: podKey(pod) };
    if (!asker.ok) {
      log.warn("a credential provider cannot be asked", { ...fields, error: asker.error });
      return [];
    }
    switch (asker.value.kind) {
      case "not-asked":
        log.debug("a credential provider is not asked", {
          ...fields,
          because: asker.value.because,
        });
        return [];
      case "anyone":
        return await this.#ask({ provider, repository });
      case "account": {
        const { identity } = asker.value;
        const logins = await this.#ask({ provider, repository, identity });
        return logins.map((login) => ({ ...login, account: identity.account }));
      }
    }
  }

  /** Those who ask for the same at once share one run of the program. */
  #ask(question: Question): Promise<readonly RegistryLogin[]> {
    const cached = this.#cached(question);
    if (cached !== undefined) return Promise.resolve(cached);
    const { provider, repository, identity } = question;
    const asker = identity === undefined ? "" : requestOwner(identity, this.#deps.sha256);
    const key = JSON.stringify([provider.name, repository, asker]);
    const present = this.#flights.get(key);
    if (present !== undefined) return present;
    const flight = this.#run(question).finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }

  #cached(question: Question): readonly RegistryLogin[] | undefined {
    const { repository } = question;
    const nowMs = this.#deps.clock.nowMs();
    for (const [key, { untilMs }] of this.#cache) if (untilMs < nowMs) this.#cache.delete(key);
    return [repository, registryOf(repository), everything]
      .map((place) => this.#cache.get(this.#cacheKey(question, place))?.logins)
      .find((logins) => logins !== undefined);
  }

  /** No answer that was given for a service account is for anybody else. */
  #cacheKey({ provider, identity }: Question, place: string): string {
    const { name, tokenAttributes } = provider;
    const { sha256 } = this.#deps;
    const owner =
      identity === undefined || tokenAttributes === undefined
        ? ""
        : answerOwner(identity, tokenAttributes.cacheType, sha256);
    return JSON.stringify([name, place, owner]);
  }

  async #run(question: Question): Promise<readonly RegistryLogin[]> {
    const { plugins, clock, log, lifetime } = this.#deps;
    const { provider, repository, identity } = question;
    const { name, args, env } = provider;
    const refused = (error: string): readonly RegistryLogin[] => {
      log.warn("a credential provider gives no login", {
        provider: name,
        image: repository,
        // What the program complains of may name what it was given.
        error: identity === undefined ? error : error.replaceAll(identity.token, "(token)"),
      });
      return [];
    };
    try {
      const input = credentialRequest(provider, repository, identity);
      const text = await this.#measured(name, () =>
        plugins.run({ name, args, env, input }, lifetime),
      );
      const answer = parseCredentialAnswer(provider, text);
      if (!answer.ok) return refused(answer.error);
      if (isEcho(provider, answer.value, identity)) {
        return refused("its password is the pod's token, which needs cacheType Token");
      }
      const { scope, cacheMs, logins } = answer.value;
      if (cacheMs > 0) {
        const place = { Image: repository, Registry: registryOf(repository), Global: everything };
        const untilMs = clock.nowMs() + cacheMs;
        this.#cache.set(this.#cacheKey(question, place[scope]), { logins, untilMs });
        forgetOldest(this.#cache, maxCached);
      }
      return logins;
    } catch (error) {
      return lifetime.aborted ? [] : refused(errorText(error));
    }
  }

  async #measured(provider: string, run: () => Promise<string>): Promise<string> {
    const { clock, metrics } = this.#deps;
    const labels = { plugin_name: provider };
    const startedMs = clock.monotonicMs();
    try {
      return await run();
    } catch (error) {
      metrics.increment("kubelet_credential_provider_plugin_errors_total", labels);
      throw error;
    } finally {
      const seconds = (clock.monotonicMs() - startedMs) / 1000;
      metrics.observe("kubelet_credential_provider_plugin_duration", seconds, labels);
    }
  }
}

/** No repository is named like this. */
const everything = "<global>";

function registryOf(repository: string): string {
  return repository.split("/", 1)[0] ?? "";
}
