// The certificate of the kubelet's API, by the kubelet's rules.
import { servingSubject } from "../core/certificate/rotation.ts";
import { certificateFiles } from "../drivers/kube/certificate-files.ts";
import { certificateRequests } from "../drivers/kube/certificate-requests.ts";
import {
  type KeptServingCertificate,
  selfSignedFiles,
  servingFiles,
} from "../drivers/kube/serving-files.ts";
import { createSelfSigned } from "../drivers/kube/x509.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import {
  CertificateManager,
  type CertificateProfile,
} from "../engine/cluster/certificate-manager.ts";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { NodeAddress } from "../model/generated/kubernetes.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";

const reloadMs = 5000;
const profile: CertificateProfile = {
  signerName: "kubernetes.io/kubelet-serving",
  usages: ["digital signature", "server auth"],
  metricNames: {
    ttl: "kubelet_certificate_manager_server_ttl_seconds",
    rotationAge: "kubelet_certificate_manager_server_rotation_seconds",
    renewErrors: "kubelet_server_expiration_renew_errors",
  },
};

export interface ServingCertificateOptions {
  readonly certDir: string;
  /** Both empty = none was given. */
  readonly files: { readonly certFile: string; readonly keyFile: string };
  readonly nodeName: string;
  /** Asks the cluster for one instead. */
  readonly bootstrap:
    | { readonly api: ApiClient; readonly addresses: () => readonly NodeAddress[] }
    | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** From the files that were given, from the cluster, or one that the node signs for itself. */
export async function openServingCertificate(
  options: ServingCertificateOptions,
): Promise<KeptServingCertificate> {
  const { certDir, files, nodeName, bootstrap, log } = options;
  try {
    if (bootstrap !== undefined) return await fromCluster(options, bootstrap);
    const isGiven = files.certFile !== "" || files.keyFile !== "";
    return servingFiles(isGiven ? files : await selfSignedFiles(certDir, nodeName), log, reloadMs);
  } catch (error) {
    throw new SetupError(
      `the serving certificate cannot be used: ${errorText(error)}`,
      "correct tlsCertFile and tlsPrivateKeyFile, or the files in --cert-dir",
      { cause: error },
    );
  }
}

async function fromCluster(
  { certDir, files, nodeName, log, metrics }: ServingCertificateOptions,
  { api, addresses }: NonNullable<ServingCertificateOptions["bootstrap"]>,
): Promise<KeptServingCertificate> {
  const fallback = files.certFile === "" || files.keyFile === "" ? undefined : files;
  const manager = await CertificateManager.open({
    store: certificateFiles({ folder: certDir, prefix: "kubelet-server", fallback }),
    requests: certificateRequests,
    profile,
    subject: {
      get template() {
        return servingSubject(nodeName, addresses());
      },
    },
    clock: systemClock,
    log,
    metrics,
    random: Math.random,
  });
  // Clients that check certificates refuse it, and those that do not are served from the start.
  const meanwhile = manager.current() ?? (await createSelfSigned(nodeName, systemClock.nowMs()));
  return {
    certificate: {
      current: () => manager.current() ?? meanwhile,
      onChange: (listener, signal) => manager.onChange(listener, signal),
    },
    run: (signal) => manager.run({ first: api, renewing: api }, signal),
  };
}
