import { millisecondsOf } from "../../lib/duration.ts";
import { isFeatureEnabled } from "../feature-gates.ts";
import type { KubeletFacts, UpFacts } from "./cis-facts.ts";
import { judged, notApplicable, type Verdict } from "./verdict.ts";

interface KubeletLine {
  readonly id: string;
  readonly title: string;
  readonly judge: (facts: KubeletFacts) => Verdict;
  /** For `berth up`; unless given, the line is about what it does not have. */
  readonly judgeUp?: (facts: UpFacts) => Verdict;
}

const strongSuite = /^ECDHE-(ECDSA|RSA)-(AES128-GCM-SHA256|AES256-GCM-SHA384|CHACHA20-POLY1305)$/;
const strongNames =
  "TLS_ECDHE_{ECDSA,RSA}_WITH_{AES_128_GCM_SHA256,AES_256_GCM_SHA384,CHACHA20_POLY1305}";

/** Section 4.2: the agent's settings. */
export const kubeletLines: readonly KubeletLine[] = [
  served("4.2.1", "anonymous requests", ({ config }) => {
    const { enabled } = config.authentication.anonymous;
    return judged(
      !enabled,
      `authentication.anonymous.enabled is ${enabled}`,
      "set authentication.anonymous.enabled (--anonymous-auth) to false",
    );
  }),
  served("4.2.2", "authorization", ({ config }) => {
    const { mode } = config.authorization;
    return judged(
      mode !== "AlwaysAllow",
      `authorization.mode is ${mode}`,
      "set authorization.mode (--authorization-mode) to Webhook",
    );
  }),
  served("4.2.3", "client CA", ({ config }) => {
    const { clientCAFile } = config.authentication.x509;
    return judged(
      clientCAFile !== "",
      clientCAFile === "" ? "authentication.x509.clientCAFile is not set" : clientCAFile,
      "set authentication.x509.clientCAFile (--client-ca-file) to the cluster's CA",
    );
  }),
  {
    id: "4.2.4",
    title: "read-only port",
    judge: ({ config: { readOnlyPort } }) =>
      judged(
        readOnlyPort === 0,
        `readOnlyPort is ${readOnlyPort}`,
        "set readOnlyPort (--read-only-port) to 0",
      ),
  },
  served("4.2.5", "idle streams", ({ config: { streamingConnectionIdleTimeout } }) => {
    return judged(
      millisecondsOf(streamingConnectionIdleTimeout) !== 0,
      `streamingConnectionIdleTimeout is ${streamingConnectionIdleTimeout}`,
      "set streamingConnectionIdleTimeout (--streaming-connection-idle-timeout) to a time such as 5m",
    );
  }),
  {
    id: "4.2.6",
    title: "packet filter chains",
    judge: ({ config: { makeIPTablesUtilChains } }) =>
      judged(
        makeIPTablesUtilChains,
        `makeIPTablesUtilChains is ${makeIPTablesUtilChains}`,
        "set makeIPTablesUtilChains (--make-iptables-util-chains) to true",
      ),
    judgeUp: () => judged(true, "berth up keeps a rule of its own for 127.0.0.0/8", ""),
  },
  {
    id: "4.2.7",
    title: "host name",
    judge: ({ hostnameOverride }) =>
      judged(
        hostnameOverride === "",
        hostnameOverride === ""
          ? "--hostname-override is not given"
          : `--hostname-override is ${hostnameOverride}`,
        "remove --hostname-override, unless the node's certificates are made for that name",
      ),
  },
  {
    id: "4.2.8",
    title: "events",
    judge: ({ config: { eventRecordQPS } }) =>
      judged(
        eventRecordQPS >= 0,
        `eventRecordQPS is ${eventRecordQPS}${eventRecordQPS === 0 ? ", any number" : ""}`,
        "set eventRecordQPS (--event-qps) to what the cluster can take, such as 50",
      ),
  },
  served("4.2.9", "serving certificate", judgeServingCertificate),
  {
    id: "4.2.10",
    title: "client certificate rotation",
    judge: ({ config: { rotateCertificates }, hasCluster }) =>
      hasCluster
        ? judged(
            rotateCertificates,
            `rotateCertificates is ${rotateCertificates}`,
            "set rotateCertificates (--rotate-certificates) to true",
          )
        : notApplicable("without --kubeconfig there is no client certificate"),
  },
  served("4.2.11", "serving certificate rotation", ({ gates }) => {
    const isOn = isFeatureEnabled(gates, "RotateKubeletServerCertificate");
    return judged(
      isOn,
      `the feature gate RotateKubeletServerCertificate is ${isOn ? "on" : "off"}`,
      "remove RotateKubeletServerCertificate=false from featureGates (--feature-gates)",
    );
  }),
  served("4.2.12", "cipher suites", ({ cipherSuites }) => {
    const weak = cipherSuites.filter((suite) => !strongSuite.test(suite));
    return judged(
      weak.length === 0,
      weak.length === 0 ? cipherSuites.join(", ") : `weak: ${weak.join(", ")}`,
      `leave only ${strongNames} in tlsCipherSuites (--tls-cipher-suites), or leave it out`,
    );
  }),
  {
    id: "4.2.13",
    title: "processes of a pod",
    judge: ({ config: { podPidsLimit } }) =>
      judgePids(podPidsLimit, "set podPidsLimit (--pod-max-pids) to a number such as 16384"),
    judgeUp: ({ podPidsLimit }) => judgePids(podPidsLimit, "give --pod-max-pids a number"),
  },
  {
    id: "4.2.14",
    title: "seccomp by default",
    judge: ({ seccompDefault }) =>
      judgeSeccomp(seccompDefault, "set seccompDefault (--seccomp-default) to true"),
    judgeUp: ({ seccompDefault }) =>
      judgeSeccomp(seccompDefault, "leave out --seccomp-default=false"),
  },
];

/** A line about the kubelet's API, which may be off. */
function served(id: string, title: string, judge: (facts: KubeletFacts) => Verdict): KubeletLine {
  return {
    id,
    title,
    judge: (facts) =>
      facts.config.enableServer ? judge(facts) : notApplicable("the kubelet's API is not served"),
  };
}

function judgeServingCertificate({ config, hasCluster }: KubeletFacts): Verdict {
  const { tlsCertFile, tlsPrivateKeyFile, serverTLSBootstrap } = config;
  if (serverTLSBootstrap && hasCluster) {
    return judged(true, "serverTLSBootstrap: it comes from the cluster", "");
  }
  const isGiven = tlsCertFile !== "" && tlsPrivateKeyFile !== "";
  return judged(
    isGiven,
    isGiven ? `${tlsCertFile} and ${tlsPrivateKeyFile}` : "the node signs it for itself",
    "set serverTLSBootstrap to true, or tlsCertFile (--tls-cert-file) and tlsPrivateKeyFile (--tls-private-key-file)",
  );
}

function judgePids(limit: number, fix: string): Verdict {
  const found = limit > 0 ? `at most ${limit}` : "as many as the node has";
  return judged(limit > 0, found, fix);
}

function judgeSeccomp(isOn: boolean, fix: string): Verdict {
  const found = isOn
    ? "containers without a profile get the runtime's"
    : "containers without a profile have none";
  return judged(isOn, found, fix);
}
