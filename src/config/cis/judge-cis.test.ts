import { describe, expect, test } from "vitest";
import type { FileFact } from "../../model/file-fact.ts";
import { defaultFeatureGates, setFeatureGates } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";
import { fileDefaultConfig } from "../legacy-defaults.ts";
import type { CisFacts, CisFiles, CisResult, KubeletFacts } from "./cis-facts.ts";
import { judgeCis } from "./judge-cis.ts";

const everyId = [
  ...Array.from({ length: 10 }, (_, index) => `4.1.${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `4.2.${index + 1}`),
  "4.3.1",
];

function file(path: string, mode = 0o600, uid = 0, gid = 0): FileFact {
  return { path, seen: { kind: "file", mode, uid, gid } };
}

const orderly: CisFiles = {
  service: [file("/etc/systemd/system/kubelet.service"), file("/run/10-kubeadm.conf", 0o400)],
  proxyKubeconfig: [file("/etc/kubernetes/proxy.conf")],
  kubeconfig: [file("/etc/kubernetes/kubelet.conf")],
  clientCa: [file("/etc/kubernetes/pki/ca.crt", 0o644)],
  config: [file("/var/lib/kubelet/config.yaml")],
};

const config: KubeletConfiguration = {
  ...fileDefaultConfig(),
  authentication: {
    ...fileDefaultConfig().authentication,
    x509: { clientCAFile: "/etc/kubernetes/pki/ca.crt" },
  },
  serverTLSBootstrap: true,
  rotateCertificates: true,
  podPidsLimit: 16_384,
};

const hardened: KubeletFacts = {
  kind: "kubelet",
  config,
  gates: defaultFeatureGates,
  hasCluster: true,
  hostnameOverride: "",
  seccompDefault: true,
  cipherSuites: ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"],
};

function judge(
  agent: CisFacts["agent"] = hardened,
  files: CisFiles = orderly,
): readonly CisResult[] {
  return judgeCis({ files, agent });
}

function idsOf(results: readonly CisResult[], status: CisResult["status"]): readonly string[] {
  return results.filter((result) => result.status === status).map(({ id }) => id);
}

test("every line of the section is judged, and a hardened node passes all that apply", () => {
  const results = judge();
  expect(results.map(({ id }) => id)).toEqual(everyId);
  expect(idsOf(results, "fail")).toEqual([]);
  expect(idsOf(results, "not applicable")).toEqual(["4.3.1"]);
});

describe("a file that others may use fails its line alone, with the command to run", () => {
  test.each([
    ["4.1.1", "service", file("/f", 0o644), "chmod 600 /f"],
    ["4.1.2", "service", file("/f", 0o600, 1000), "chown root:root /f"],
    ["4.1.3", "proxyKubeconfig", file("/f", 0o640), "chmod 600 /f"],
    ["4.1.4", "proxyKubeconfig", file("/f", 0o600, 0, 5), "chown root:root /f"],
    ["4.1.5", "kubeconfig", file("/f", 0o604), "chmod 600 /f"],
    ["4.1.6", "kubeconfig", file("/f", 0o600, 7), "chown root:root /f"],
    ["4.1.7", "clientCa", file("/f", 0o664), "chmod 644 /f"],
    ["4.1.8", "clientCa", file("/f", 0o644, 7), "chown root:root /f"],
    ["4.1.9", "config", file("/f", 0o700), "chmod 600 /f"],
    ["4.1.10", "config", file("/f", 0o600, 7), "chown root:root /f"],
  ] as const)("%s", (id, name, wrong, fix) => {
    const results = judge(hardened, { ...orderly, [name]: [...orderly[name], wrong] });
    expect(idsOf(results, "fail")).toEqual([id]);
    expect(results.find((result) => result.id === id)).toMatchObject({
      found: expect.stringContaining("/f "),
      fix,
    });
  });
});

test("a file that does not exist is not judged, one that cannot be seen fails", () => {
  const missing: FileFact = { path: "/gone", seen: { kind: "missing" } };
  const hidden: FileFact = { path: "/hidden", seen: { kind: "unreadable", problem: "EACCES" } };
  const gone = judge(hardened, { ...orderly, kubeconfig: [missing] });
  expect(idsOf(gone, "not applicable")).toEqual(["4.1.5", "4.1.6", "4.3.1"]);
  const unseen = judge(hardened, { ...orderly, kubeconfig: [hidden] });
  expect(idsOf(unseen, "fail")).toEqual(["4.1.5", "4.1.6"]);
});

const withConfig = (change: Partial<KubeletConfiguration>): KubeletFacts => ({
  ...hardened,
  config: { ...config, ...change },
});
const { authentication, authorization } = config;
const gateOff = setFeatureGates(defaultFeatureGates, { RotateKubeletServerCertificate: false });

describe("a setting that opens the node fails its line alone", () => {
  const open: readonly (readonly [string, KubeletFacts])[] = [
    ["4.2.1", withConfig({ authentication: { ...authentication, anonymous: { enabled: true } } })],
    ["4.2.2", withConfig({ authorization: { ...authorization, mode: "AlwaysAllow" } })],
    ["4.2.3", withConfig({ authentication: { ...authentication, x509: { clientCAFile: "" } } })],
    ["4.2.4", withConfig({ readOnlyPort: 10_255 })],
    ["4.2.5", withConfig({ streamingConnectionIdleTimeout: "0s" })],
    ["4.2.6", withConfig({ makeIPTablesUtilChains: false })],
    ["4.2.7", { ...hardened, hostnameOverride: "node-1" }],
    ["4.2.8", withConfig({ eventRecordQPS: -1 })],
    ["4.2.9", withConfig({ serverTLSBootstrap: false })],
    ["4.2.9", withConfig({ serverTLSBootstrap: false, tlsCertFile: "/only-one" })],
    ["4.2.10", withConfig({ rotateCertificates: false })],
    ["4.2.11", { ...hardened, gates: gateOff.ok ? gateOff.value : defaultFeatureGates }],
    ["4.2.12", { ...hardened, cipherSuites: ["ECDHE-RSA-AES128-SHA"] }],
    ["4.2.12", { ...hardened, cipherSuites: ["AES128-GCM-SHA256"] }],
    ["4.2.13", withConfig({ podPidsLimit: -1 })],
    ["4.2.14", { ...hardened, seccompDefault: false }],
  ];
  test.each(open)("%s", (id, facts) => {
    const results = judge(facts);
    expect(idsOf(results, "fail")).toEqual([id]);
    expect(results.find((result) => result.id === id)?.fix).toMatch(/\w/);
  });
});

test("certificate files of its own are as good as the cluster's, and any number of events passes", () => {
  const own = { serverTLSBootstrap: false, tlsCertFile: "/c", tlsPrivateKeyFile: "/k" };
  expect(idsOf(judge(withConfig({ ...own, eventRecordQPS: 0 })), "fail")).toEqual([]);
});

test("without the kubelet's API what guards it does not apply", () => {
  const results = judge({ ...withConfig({ enableServer: false }), hasCluster: false });
  expect(idsOf(results, "not applicable")).toEqual(
    ["1", "2", "3", "5", "9", "10", "11", "12"].map((line) => `4.2.${line}`).concat("4.3.1"),
  );
});

describe("berth up", () => {
  const none: CisFiles = {
    service: [],
    proxyKubeconfig: [],
    kubeconfig: [],
    clientCa: [],
    config: [],
  };

  test("passes what applies to it", () => {
    const results = judge({ kind: "up", seccompDefault: true, podPidsLimit: 100 }, none);
    expect(results.map(({ id }) => id)).toEqual(everyId);
    expect(idsOf(results, "pass")).toEqual(["4.2.6", "4.2.13", "4.2.14"]);
    expect(idsOf(results, "fail")).toEqual([]);
  });

  test("fails where its pods are not confined", () => {
    const results = judge({ kind: "up", seccompDefault: false, podPidsLimit: -1 }, none);
    expect(idsOf(results, "fail")).toEqual(["4.2.13", "4.2.14"]);
  });
});
