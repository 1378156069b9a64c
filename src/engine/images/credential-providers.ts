import {
  type CredentialProvider,
  credentialRequest,
  isProviderOf,
  parseCredentialAnswer,
} from "../../core/image/credential-provider.ts";
import type { RegistryLogin } from "../../core/image/docker-config.ts";
import { errorText } from "../../lib/error-text.ts";
import { forgetOldest } from "../../lib/forget-oldest.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { Clock } from "../../ports/clock.ts";
import type { CredentialPlugins } from "../../ports/credential-plugins.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";

export interface CredentialProvidersDeps {
  readonly providers: readonly CredentialProvider[];
  readonly plugins: CredentialPlugins;
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Ends with the agent. */
  readonly lifetime: AbortSignal;
}

/** Pods choose the images that are asked for. */
const maxCached = 1_000;

interface CachedLogins {
  readonly logins: readonly RegistryLogin[];
  readonly untilMs: number;
}

/** Asks the configured programs for registry logins, and keeps their answers as long as they hold. */
export class CredentialProviders {
  readonly #deps: CredentialProvidersDeps;
  readonly #cache = new Map<string, CachedLogins>();
  readonly #flights = new Map<string, Promise<readonly RegistryLogin[]>>();

  constructor(deps: CredentialProvidersDeps) {
    this.#deps = deps;
  }

  /** A program that fails gives no logins: the pull is tried without. Rejects only when `signal` aborts. */
  async logins(repository: string, signal: AbortSignal): Promise<readonly RegistryLogin[]> {
    const asked = this.#deps.providers.filter((provider) => isProviderOf(provider, repository));
    const answers = asked.map((provider) => this.#ask(provider, repository));
    return (await untilAborted(Promise.all(answers), signal)).flat();
  }

  /** Those who ask for the same at once share one run of the program. */
  #ask(provider: CredentialProvider, repository: string): Promise<readonly RegistryLogin[]> {
    const cached = this.#cached(provider, repository);
    if (cached !== undefined) return Promise.resolve(cached);
    const key = cacheKey(provider, repository);
    const present = this.#flights.get(key);
    if (present !== undefined) return present;
    const flight = this.#run(provider, repository).finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }

  #cached(provider: CredentialProvider, repository: string): readonly RegistryLogin[] | undefined {
    const nowMs = this.#deps.clock.nowMs();
    for (const [key, { untilMs }] of this.#cache) if (untilMs < nowMs) this.#cache.delete(key);
    return [repository, registryOf(repository), everything]
      .map((place) => this.#cache.get(cacheKey(provider, place))?.logins)
      .find((logins) => logins !== undefined);
  }

  async #run(provider: CredentialProvider, repository: string): Promise<readonly RegistryLogin[]> {
    const { plugins, clock, log, lifetime } = this.#deps;
    const { name, args, env } = provider;
    const refused = (error: string): readonly RegistryLogin[] => {
      log.warn("a credential provider gives no login", {
        provider: name,
        image: repository,
        error,
      });
      return [];
    };
    try {
      const input = credentialRequest(provider, repository);
      const text = await this.#measured(name, () =>
        plugins.run({ name, args, env, input }, lifetime),
      );
      const answer = parseCredentialAnswer(provider, text);
      if (!answer.ok) return refused(answer.error);
      const { scope, cacheMs, logins } = answer.value;
      if (cacheMs > 0) {
        const place = { Image: repository, Registry: registryOf(repository), Global: everything };
        const untilMs = clock.nowMs() + cacheMs;
        this.#cache.set(cacheKey(provider, place[scope]), { logins, untilMs });
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

function cacheKey({ name }: CredentialProvider, place: string): string {
  return `${name} ${place}`;
}

function registryOf(repository: string): string {
  return repository.split("/", 1)[0] ?? "";
}
