import { errorText } from "../../lib/error-text.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { ChangingPair } from "./changing-pair.ts";
import { ExecPluginCredentials, type PluginCredentials } from "./exec-plugin.ts";
import type { Identity, IdentitySource } from "./identity.ts";
import { checkKeyPair, readPem } from "./key-pair-files.ts";
import type { Impersonation, KubeCluster, KubeUser, PemSource } from "./kubeconfig.ts";
import { TokenFile } from "./token-file.ts";

const pluginTimeoutMs = 60_000;

export interface KubeconfigIdentityOptions {
  readonly user: KubeUser;
  readonly cluster: KubeCluster;
  readonly caPem: string | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The user of a kubeconfig. Files are read again when they change; throws when they cannot be used at all. */
export function kubeconfigIdentity(options: KubeconfigIdentityOptions): IdentitySource {
  return new KubeconfigIdentity(options);
}

class KubeconfigIdentity implements IdentitySource {
  readonly #user: KubeUser;
  readonly #readPair: () => KeyPair | undefined;
  readonly #tokenFile: TokenFile | undefined;
  readonly #plugin: ExecPluginCredentials | undefined;
  readonly #given = new WeakMap<Identity, PluginCredentials>();

  constructor({ user, cluster, caPem, log, metrics }: KubeconfigIdentityOptions) {
    this.#user = user;
    this.#readPair = pairReader(user, log);
    this.#readPair();
    this.#tokenFile = user.tokenFile === undefined ? undefined : new TokenFile(user.tokenFile);
    if (user.token === undefined) this.#tokenFile?.read();
    // Other credentials win over a plugin, as they do for other clients.
    const isAlone = user.certificate === undefined && !hasHeader(user);
    if (user.exec === undefined || !isAlone) return;
    this.#plugin = new ExecPluginCredentials({
      plugin: user.exec,
      cluster: describeCluster(cluster, caPem),
      timeoutMs: pluginTimeoutMs,
      metrics,
    });
  }

  async current(signal: AbortSignal): Promise<Identity> {
    const impersonation = impersonationHeaders(this.#user.impersonation);
    const given = await this.#plugin?.current(signal);
    const authorization = given === undefined ? this.#authorization() : bearer(given.token);
    const headers = { ...authorization, ...impersonation };
    const pair = given === undefined ? this.#readPair() : given.pair;
    const identity = { headers, pair };
    if (given !== undefined) this.#given.set(identity, given);
    return identity;
  }

  async refresh(refused: Identity, signal: AbortSignal): Promise<boolean> {
    const given = this.#given.get(refused);
    if (given !== undefined) await this.#plugin?.replace(given, signal);
    this.#tokenFile?.read();
    const now = await this.current(signal);
    return (
      now.headers["Authorization"] !== refused.headers["Authorization"] ||
      now.pair?.certPem !== refused.pair?.certPem
    );
  }

  #authorization(): Readonly<Record<string, string>> {
    const { token, basic } = this.#user;
    if (basic !== undefined) {
      const text = Buffer.from(`${basic.username}:${basic.password}`).toString("base64");
      return { Authorization: `Basic ${text}` };
    }
    try {
      return bearer(this.#tokenFile?.current() ?? token);
    } catch (error) {
      if (token !== undefined) return bearer(token);
      throw error;
    }
  }
}

function hasHeader({ token, tokenFile, basic }: KubeUser): boolean {
  return token !== undefined || tokenFile !== undefined || basic !== undefined;
}

function bearer(token: string | undefined): Readonly<Record<string, string>> {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

function pairReader({ certificate }: KubeUser, log: Log): () => KeyPair | undefined {
  if (certificate === undefined) return () => undefined;
  const { cert, key } = certificate;
  if (cert.kind === "file" && key.kind === "file") {
    const files = new ChangingPair(cert.path, key.path);
    return () =>
      files.current((error) => {
        log.warn("the new client certificate cannot be used", { error: errorText(error) });
      });
  }
  const pair = { certPem: readSource(cert), keyPem: readSource(key) };
  checkKeyPair(pair);
  return () => pair;
}

/** The PEM text itself; throws an error that names the file. */
export function readSource(source: PemSource): string {
  return source.kind === "data" ? source.pem : readPem(source.path);
}

function impersonationHeaders(
  impersonation: Impersonation | undefined,
): Readonly<Record<string, string | readonly string[]>> {
  if (impersonation === undefined) return {};
  const { user, uid, groups, extra } = impersonation;
  const extras = Object.entries(extra).map(
    ([name, values]) => [`Impersonate-Extra-${encodeURIComponent(name)}`, values] as const,
  );
  return {
    "Impersonate-User": user,
    ...(uid === "" ? {} : { "Impersonate-Uid": uid }),
    ...(groups.length === 0 ? {} : { "Impersonate-Group": groups }),
    ...Object.fromEntries(extras),
  };
}

function describeCluster(cluster: KubeCluster, caPem: string | undefined): unknown {
  return {
    server: cluster.server,
    ...(cluster.tlsServerName === undefined ? {} : { "tls-server-name": cluster.tlsServerName }),
    ...(cluster.skipVerification ? { "insecure-skip-tls-verify": true } : {}),
    ...(caPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(caPem).toString("base64") }),
    config: cluster.execConfig ?? null,
  };
}
