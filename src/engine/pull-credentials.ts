import { type RegistryLogin, secretLogins } from "../core/image/docker-config.ts";
import { findLogins } from "../core/image/keyring.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { AuthConfig } from "../model/generated/cri.ts";
import type { Secret } from "../model/generated/kubernetes.ts";
import type { Pod } from "../model/pod.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { PodEvents } from "../ports/pod-events.ts";
import type { CredentialProviders } from "./credential-providers.ts";

/** What a pod can pull images with. */
export interface PodCredentials {
  /** Another one after the pod's pull secrets have changed. Made of them, and as secret as they are. */
  readonly version: string;
  /** Those for a repository, to be tried in this order. An error names a secret that cannot be used. */
  find(repository: string, signal: AbortSignal): Promise<Result<readonly AuthConfig[], string>>;
}

/** Finds registry logins in the pull secrets of pods, and with the node's credential providers. */
export class PullCredentials {
  readonly #secrets: Pick<ObjectStore, "secret">;
  readonly #events: PodEvents;
  readonly #providers: Pick<CredentialProviders, "logins">;

  constructor(
    secrets: Pick<ObjectStore, "secret">,
    events: PodEvents,
    providers: Pick<CredentialProviders, "logins">,
  ) {
    this.#secrets = secrets;
    this.#events = events;
    this.#providers = providers;
  }

  /** With the secrets as they are now; the pod is told of those that are missing. */
  of(pod: Pod): PodCredentials {
    const { namespace } = pod.metadata;
    const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name = "" }) => name || []);
    const secrets: Secret[] = [];
    const missing: string[] = [];
    for (const name of names) {
      const found = this.#secrets.secret(namespace, name);
      if (found.ok) secrets.push(found.value);
      else missing.push(name);
    }
    if (missing.length > 0) {
      const message = `Unable to retrieve some image pull secrets (${missing.join(", ")}); attempting to pull the image may not succeed.`;
      this.#events.record(pod, {
        type: "Warning",
        reason: "FailedToRetrieveImagePullSecret",
        message,
      });
    }
    return {
      version: JSON.stringify(secrets.map(({ type, data }) => [type, data])),
      find: (repository, signal) => this.#find(secrets, repository, signal),
    };
  }

  async #find(
    secrets: readonly Secret[],
    repository: string,
    signal: AbortSignal,
  ): Promise<Result<readonly AuthConfig[], string>> {
    const logins: RegistryLogin[] = [];
    for (const secret of secrets) {
      const own = secretLogins(secret);
      if (!own.ok) return err(`image pull secret "${secret.metadata?.name}": ${own.error}`);
      logins.push(...own.value);
    }
    const provided = await this.#providers.logins(repository, signal);
    return ok([...findLogins(logins, repository), ...findLogins(provided, repository)]);
  }
}
