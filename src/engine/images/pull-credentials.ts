import { type RegistryLogin, secretLogins } from "../../core/image/docker-config.ts";
import { findLogins } from "../../core/image/keyring.ts";
import { loginText, type PullAccount, type SecretLogin } from "../../core/image/pull-record.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { AuthConfig } from "../../model/generated/cri.ts";
import type { Secret } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import type { PodEvents } from "../../ports/pod-events.ts";

/** What a pod can pull images with. */
export interface PodCredentials {
  /** Another one after the pod's pull secrets have changed. Made of them, and as secret as they are. */
  readonly version: string;
  /** Those for a repository, to be tried in this order. An error names a secret that cannot be used. */
  find(repository: string, signal: AbortSignal): Promise<Result<readonly PullCredential[], string>>;
}

export interface PullCredential {
  readonly auth: AuthConfig;
  /** Where it comes from; without either every pod of the node could have it. */
  readonly secret?: SecretLogin | undefined;
  readonly account?: PullAccount | undefined;
}

/** A login that is not in the pod's own secrets. */
export interface NodeLogin extends RegistryLogin {
  /** For whom it was given; undefined = for any pod. */
  readonly account?: PullAccount | undefined;
}

/** Something of the node that has logins for pods. */
interface LoginSource {
  logins(repository: string, pod: Pod, signal: AbortSignal): Promise<readonly NodeLogin[]>;
}

interface OwnLogin extends RegistryLogin {
  readonly secret: SecretLogin;
}

/** Finds registry logins in the pull secrets of pods, and with the node's own sources in their order. */
export class PullCredentials {
  readonly #secrets: Pick<ObjectStore, "secret">;
  readonly #events: PodEvents;
  readonly #sources: readonly LoginSource[];
  readonly #sha256: (text: string) => string;

  constructor(
    secrets: Pick<ObjectStore, "secret">,
    events: PodEvents,
    sources: readonly LoginSource[],
    sha256: (text: string) => string,
  ) {
    this.#secrets = secrets;
    this.#events = events;
    this.#sources = sources;
    this.#sha256 = sha256;
  }

  /** With the secrets as they are now; those that are missing are reported for the pod. */
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
      find: (repository, signal) => this.#find(pod, secrets, repository, signal),
    };
  }

  async #find(
    pod: Pod,
    secrets: readonly Secret[],
    repository: string,
    signal: AbortSignal,
  ): Promise<Result<readonly PullCredential[], string>> {
    const logins = this.#ownLogins(secrets);
    if (!logins.ok) return logins;
    const provided = await Promise.all(
      this.#sources.map((source) => source.logins(repository, pod, signal)),
    );
    return ok([
      ...findLogins(logins.value, repository).map((login) => ({
        auth: authOf(login),
        secret: login.secret,
      })),
      ...provided
        .flatMap((source) => findLogins(source, repository))
        .map((login) => ({ auth: authOf(login), account: login.account })),
    ]);
  }

  #ownLogins(secrets: readonly Secret[]): Result<readonly OwnLogin[], string> {
    const logins: OwnLogin[] = [];
    for (const secret of secrets) {
      const { uid = "", namespace = "default", name = "" } = secret.metadata ?? {};
      const own = secretLogins(secret);
      if (!own.ok) return err(`image pull secret "${name}": ${own.error}`);
      for (const login of own.value) {
        const credentialHash = this.#sha256(loginText(login));
        logins.push({ ...login, secret: { uid, namespace, name, credentialHash } });
      }
    }
    return ok(logins);
  }
}

function authOf({ username, password }: RegistryLogin): AuthConfig {
  return { username, password };
}
