import type { SecureVersion } from "node:tls";
import type { KeyPair } from "../../model/key-pair.ts";
import type { ListenAddress } from "../tcp-server.ts";
import type { EndpointSettings } from "./endpoints.ts";

export type ServerName = "secure" | "readOnly" | "health";

/** The ports that are listened on; undefined = that one is off. */
export type ListeningPorts = { readonly [Name in ServerName]?: number | undefined };

/** Who may ask, as far as the configuration says. */
export interface AccessSettings {
  readonly nodeName: string;
  /** Upstream's rule: a GET that runs something in a container asks for `get` only. */
  readonly upstreamExecVerb: boolean;
  readonly anonymous: boolean;
  /** Undefined = tokens are not reviewed. */
  readonly tokenCacheMs: number | undefined;
  /** Undefined = every authenticated user may do everything. */
  readonly authorization: { readonly allowedMs: number; readonly deniedMs: number } | undefined;
}

export interface SecureSettings {
  readonly address: ListenAddress;
  readonly endpoints: Omit<EndpointSettings, "healthChecks">;
  readonly access: AccessSettings;
  readonly minVersion: SecureVersion;
  readonly ciphers: string;
  readonly curves: string | undefined;
}

/** What the certificates are now; they are replaced while the API is served. */
export interface ApiCertificates {
  readonly serving: KeyPair;
  /** Of those who vouch for clients, as PEM; undefined = clients are not asked for certificates. */
  readonly clientAuthoritiesPem: string | undefined;
}

/** The kubelet's API as plain data: it is served in a thread of its own. */
export interface ApiSettings {
  /** Undefined = that port is off. */
  readonly secure: SecureSettings | undefined;
  readonly readOnly: ListenAddress | undefined;
  readonly health: ListenAddress | undefined;
  /** The names of the health checks. */
  readonly healthChecks: readonly string[];
  readonly build: { readonly version: string; readonly startedAtMs: number };
  /** What /configz shows, as JSON. */
  readonly configText: string;
  /** As /flagz shows them. */
  readonly flags: ReadonlyMap<string, string>;
  readonly systemLogFolder: string;
  readonly streamIdleMs: number;
  readonly splitsLogStreams: boolean;
  readonly translatesWebSockets: boolean;
}
