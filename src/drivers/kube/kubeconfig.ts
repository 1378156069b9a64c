import type { Result } from "../../lib/result.ts";

/** PEM text, or the file that has it. */
export type PemSource =
  | { readonly kind: "data"; readonly pem: string }
  | { readonly kind: "file"; readonly path: string };

/** The cluster of a kubeconfig's current context. */
export interface KubeCluster {
  readonly server: string;
  readonly tlsServerName?: string | undefined;
  readonly skipVerification: boolean;
  readonly authority?: PemSource | undefined;
  /** What the file says for exec plugins about this cluster. */
  readonly execConfig?: unknown;
}

/** A program that hands out credentials. */
export interface ExecPlugin {
  readonly apiVersion: string;
  /** A name to be looked up in PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly provideClusterInfo: boolean;
  readonly installHint: string;
}

/** Whom requests pretend to come from. */
export interface Impersonation {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The user of a kubeconfig's current context. */
export interface KubeUser {
  readonly certificate?: { readonly cert: PemSource; readonly key: PemSource } | undefined;
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly basic?: { readonly username: string; readonly password: string } | undefined;
  readonly exec?: ExecPlugin | undefined;
  readonly impersonation?: Impersonation | undefined;
}

/** What the current context of a kubeconfig comes to. Paths are absolute. */
export interface Kubeconfig {
  readonly cluster: KubeCluster;
  readonly user: KubeUser;
}

/** A parsed kubeconfig, or what is wrong with it, by field. */
export type DecodedKubeconfig = Result<Kubeconfig, string>;
