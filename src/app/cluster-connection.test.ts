import { X509Certificate } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { noMetrics } from "../../test/kit/no-metrics.ts";
import { type SigningApi, startSigningApi } from "../../test/kit/signing-api.ts";
import { createTestAuthority, type TestAuthority } from "../../test/kit/test-authority.ts";
import { parseCommandLine } from "../config/flags/command-line.ts";
import type { KeyPair } from "../model/key-pair.ts";
import type { Log } from "../ports/log.ts";
import { type ClusterConnection, openClusterConnection } from "./cluster-connection.ts";

const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const messages: string[] = [];
const keep = (message: string, fields?: unknown): void => {
  messages.push(`${message} ${JSON.stringify(fields)}`);
};
const log: Log = { debug: keep, info: keep, warn: keep, error: keep };

let authority: TestAuthority;
let api: SigningApi;
let folder: string;
let stop: AbortController;
const running: Promise<void>[] = [];

beforeAll(() => {
  authority = createTestAuthority();
});
afterAll(() => authority.remove());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-connection-"));
  api = await startSigningApi(authority);
  api.memory.put("/api/v1/nodes/node-a", { kind: "Node" });
  stop = new AbortController();
  messages.length = 0;
});

afterEach(async () => {
  stop.abort();
  await Promise.allSettled(running.splice(0));
  await api.server.close();
  rmSync(folder, { recursive: true });
});

const file = (name: string): string => join(folder, name);

function usualCluster(): unknown {
  return {
    server: api.server.url.href,
    "certificate-authority-data": Buffer.from(authority.caPem).toString("base64"),
  };
}

function writeKubeconfig(name: string, user: unknown, cluster = usualCluster()): string {
  const config = {
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
    clusters: [{ name: "x", cluster }],
    users: [{ name: "x", user }],
  };
  writeFileSync(file(name), JSON.stringify(config));
  return file(name);
}

const inline = ({ certPem, keyPem }: KeyPair): unknown => ({
  "client-certificate-data": Buffer.from(certPem).toString("base64"),
  "client-key-data": Buffer.from(keyPem).toString("base64"),
});

async function open(...flags: readonly string[]): Promise<ClusterConnection> {
  const parsed = parseCommandLine([`--cert-dir=${file("pki")}`, ...flags]);
  if (!parsed.ok) throw new Error(parsed.error);
  const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
  const deps = { nodeName: "node-a", addresses: () => addresses, log, metrics: noMetrics };
  const connection = await openClusterConnection(parsed.value, deps, stop.signal);
  running.push(connection.run(stop.signal));
  return connection;
}

function readNode({ clients }: ClusterConnection): Promise<unknown> {
  const request = { method: "GET", path: "/api/v1/nodes/node-a" } as const;
  return clients?.api.send(request, stop.signal) ?? Promise.resolve(undefined);
}

const lastCaller = (): string | undefined => api.callers.at(-1);

test("without a kubeconfig there is no cluster, and the node signs its serving certificate itself", async () => {
  const { clients, servingCertificate } = await open();
  expect(clients).toBeUndefined();
  const { subject, subjectAltName } = new X509Certificate(servingCertificate.current().certPem);
  expect(subject).toMatch(/^CN=node-a@\d+$/);
  expect(subjectAltName).toBe("DNS:node-a");
  expect(statSync(file("pki/kubelet.key")).mode & 0o777).toBe(0o600);
  expect(statSync(file("pki/kubelet.crt")).mode & 0o777).toBe(0o644);
  const again = await open();
  expect(again.servingCertificate.current()).toEqual(servingCertificate.current());
});

test("half of a serving pair is reported by its name, and so is a damaged one", async () => {
  mkdirSync(file("pki"));
  writeFileSync(file("pki/kubelet.crt"), "damaged");
  await expect(open()).rejects.toThrow(`error reading ${file("pki/kubelet.key")}`);
  writeFileSync(file("pki/kubelet.key"), "damaged");
  await expect(open()).rejects.toThrow(/kubelet.crt .* cannot be used: there is no certificate/);
});

test("a given serving certificate is shown, and the new one when its files change", async () => {
  const pairs = [authority.issue("/CN=one"), authority.issue("/CN=two")];
  const write = ({ certPem, keyPem }: KeyPair): void => {
    writeFileSync(file("tls.crt"), certPem);
    writeFileSync(file("tls.key"), keyPem);
  };
  const [one, two] = pairs;
  if (one === undefined || two === undefined) throw new Error("two pairs were issued");
  write(one);
  const { servingCertificate } = await open(
    `--tls-cert-file=${file("tls.crt")}`,
    `--tls-private-key-file=${file("tls.key")}`,
  );
  expect(servingCertificate.current()).toEqual(one);
  const changed = vi.fn<(pair: KeyPair) => void>();
  servingCertificate.onChange(changed, stop.signal);
  write(two);
  await vi.waitFor(() => expect(changed).toHaveBeenCalledWith(two), 10_000);
  expect(servingCertificate.current()).toEqual(two);
});

test("a CA bundle in a file is read again when it changes, and the last good one stays", async () => {
  const other = createTestAuthority();
  onTestFinished(() => other.remove());
  const write = (pem: string): void => writeFileSync(file("ca.crt"), pem);
  write(authority.caPem);
  const cluster = { server: api.server.url.href, "certificate-authority": file("ca.crt") };
  const connection = await open(
    `--kubeconfig=${writeKubeconfig("ca.conf", { token: "t" }, cluster)}`,
  );
  await readNode(connection);
  write("damaged");
  await readNode(connection);
  rmSync(file("ca.crt"));
  await readNode(connection);
  write(other.caPem);
  await expect(readNode(connection)).rejects.toThrow("certificate");
  write(`${other.caPem}${authority.caPem}`);
  await readNode(connection);
  expect(messages.filter((message) => message.includes("CA bundle"))).toEqual([
    expect.stringContaining("cannot be used"),
    expect.stringContaining("cannot be used"),
    expect.stringContaining("reloaded"),
    expect.stringContaining("reloaded"),
  ]);
});

test("a CA bundle that cannot be used keeps the agent from starting", async () => {
  const cluster = { server: api.server.url.href, "certificate-authority": file("ca.crt") };
  const kubeconfig = writeKubeconfig("ca.conf", { token: "t" }, cluster);
  const wanted = `the cluster's certificate-authority ${file("ca.crt")} cannot be used`;
  await expect(open(`--kubeconfig=${kubeconfig}`)).rejects.toThrow(wanted);
  writeFileSync(file("ca.crt"), "damaged");
  await expect(open(`--kubeconfig=${kubeconfig}`)).rejects.toThrow(wanted);
});

test("a kubeconfig with a token is used as it is", async () => {
  const connection = await open(`--kubeconfig=${writeKubeconfig("kube.conf", { token: "t0" })}`);
  await readNode(connection);
  expect(lastCaller()).toBe("Bearer t0");
  await connection.clients?.heartbeatApi.send({ method: "GET", path: requestsPath }, stop.signal);
});

test("without rotation a first certificate is waited for, and kept as kubelets keep it", async () => {
  const bootstrap = writeKubeconfig("bootstrap.conf", { token: "first" });
  const flags = [`--kubeconfig=${file("kubelet.conf")}`, `--bootstrap-kubeconfig=${bootstrap}`];
  await readNode(await open(...flags));
  expect(lastCaller()).toBe("system:node:node-a");
  const [csr] = api.memory.list(requestsPath);
  expect(csr).toMatchObject({
    metadata: { name: expect.stringMatching(/^node-csr-[\w-]{43}$/) as string },
    spec: {
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
    },
  });
  expect(statSync(file("kubelet.conf")).mode & 0o777).toBe(0o600);
  expect(readFileSync(file("kubelet.conf"), "utf8")).toContain(
    `client-certificate: "${file("pki/kubelet-client-current.pem")}"`,
  );
  expect(existsSync(file("pki/kubelet-client.key.tmp"))).toBe(false);
  await readNode(await open(...flags));
  expect(api.memory.list(requestsPath)).toHaveLength(1);
});

test("a first request that was cut off is taken up again with the same key", async () => {
  const bootstrap = writeKubeconfig("bootstrap.conf", { token: "first" });
  const flags = [`--kubeconfig=${file("kubelet.conf")}`, `--bootstrap-kubeconfig=${bootstrap}`];
  api.memory.goDown();
  const cut = open(...flags).catch(String);
  await vi.waitFor(() => expect(messages.join()).toContain("does not answer"));
  stop.abort(new Error("cut off"));
  expect(await cut).toContain("cut off");
  expect(existsSync(file("pki/kubelet-client.key.tmp"))).toBe(true);
  const key = readFileSync(file("pki/kubelet-client.key.tmp"), "utf8");
  stop = new AbortController();
  api.memory.comeBack();
  await open(...flags);
  expect(readFileSync(file("pki/kubelet-client-current.pem"), "utf8")).toContain(key);
});

test("with rotation requests wait for the first certificate, and the bootstrap token is for nothing else", async () => {
  const bootstrap = writeKubeconfig("bootstrap.conf", { token: "first" });
  const connection = await open(
    "--rotate-certificates",
    "--rotate-server-certificates",
    `--kubeconfig=${file("kubelet.conf")}`,
    `--bootstrap-kubeconfig=${bootstrap}`,
  );
  expect(connection.servingCertificate.current().certPem).toContain("BEGIN CERTIFICATE");
  await readNode(connection);
  expect(lastCaller()).toBe("system:node:node-a");
  await vi.waitFor(() => {
    const { subjectAltName } = new X509Certificate(connection.servingCertificate.current().certPem);
    expect(subjectAltName).toBe("IP Address:127.0.0.1");
  }, 10_000);
  expect(readdirSync(file("pki")).filter((name) => name.endsWith("-current.pem"))).toEqual([
    "kubelet-client-current.pem",
    "kubelet-server-current.pem",
  ]);
});

test("a kubeconfig that carries its certificate is a beginning, and is replaced at once", async () => {
  const admin = authority.issue("/CN=admin");
  const path = writeKubeconfig("kube.conf", inline(admin));
  const connection = await open("--rotate-certificates", `--kubeconfig=${path}`);
  await vi.waitFor(async () => {
    await readNode(connection);
    expect(lastCaller()).toBe("system:node:node-a");
  });
  expect(api.callers[0]).toBe("admin");
});

test("a kubeconfig whose certificate is damaged or expired is replaced by way of the bootstrap", async () => {
  mkdirSync(file("pki"));
  const bootstrap = writeKubeconfig("bootstrap.conf", { token: "first" });
  const pem = file("broken.pem");
  const path = writeKubeconfig("kubelet.conf", { "client-certificate": pem, "client-key": pem });
  writeFileSync(pem, "damaged");
  const flags = [`--kubeconfig=${path}`, "--rotate-certificates"];
  await expect(open(...flags)).rejects.toThrow(`${pem} cannot be used: there is no certificate`);
  await readNode(await open(...flags, `--bootstrap-kubeconfig=${bootstrap}`));
  expect(lastCaller()).toBe("system:node:node-a");
  expect(messages.join()).toContain("requesting a new certificate");
});

test.each([
  [["--kubeconfig=none.conf"], /cannot read the kubeconfig .*none.conf .*--kubeconfig$/],
  [["--bootstrap-kubeconfig=b"], "--bootstrap-kubeconfig is given without --kubeconfig"],
  [["--rotate-server-certificates"], "serverTLSBootstrap asks for a certificate from a cluster"],
  [["--kubeconfig=none.conf", "--bootstrap-kubeconfig=b.conf"], /b.conf .*--bootstrap-kubeconfig$/],
])("what cannot work is reported by its flag: %j", async (flags, message) => {
  await expect(open(...flags)).rejects.toThrow(message);
});

test("no secret reaches the log", async () => {
  const bootstrap = writeKubeconfig("bootstrap.conf", { token: "canary-token" });
  const path = `--kubeconfig=${file("kubelet.conf")}`;
  await readNode(await open(path, `--bootstrap-kubeconfig=${bootstrap}`, "--rotate-certificates"));
  api.memory.goDown();
  await readNode(await open(path)).catch((error: unknown) => keep(String(error)));
  expect(messages.join()).not.toMatch(/canary|PRIVATE KEY/);
});
