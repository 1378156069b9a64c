import type { FileFact } from "../../model/file-fact.ts";
import type { FeatureGateState } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";

/** The files that the benchmark checks, as far as the configuration or the machine has them. */
export interface CisFiles {
  readonly service: readonly FileFact[];
  readonly proxyKubeconfig: readonly FileFact[];
  readonly kubeconfig: readonly FileFact[];
  readonly clientCa: readonly FileFact[];
  /** The configuration file and its drop-ins. */
  readonly config: readonly FileFact[];
}

/** `berth kubelet`, as it would run. */
export interface KubeletFacts {
  readonly kind: "kubelet";
  /** With what Berth closes that a kubelet without a file has open. */
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGateState;
  readonly hasCluster: boolean;
  /** --hostname-override; empty = not given. */
  readonly hostnameOverride: string;
  readonly seccompDefault: boolean;
  /** Of TLS 1.2, as OpenSSL names them. */
  readonly cipherSuites: readonly string[];
}

/** `berth up` without flags: it serves no kubelet's API and belongs to no cluster. */
export interface UpFacts {
  readonly kind: "up";
  readonly seccompDefault: boolean;
  readonly podPidsLimit: number;
}

export interface CisFacts {
  readonly files: CisFiles;
  readonly agent: KubeletFacts | UpFacts;
}

/** What one line of the benchmark comes to. */
export interface CisResult {
  readonly id: string;
  readonly title: string;
  readonly status: "pass" | "fail" | "not applicable";
  readonly found: string;
  /** What to do about it; only when it fails. */
  readonly fix?: string | undefined;
}
