import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { makeTestFolder } from "../../integration/support/test-folder.ts";
import { bootstrapObjects } from "./bootstrap-objects.ts";
import { CertificateAuthority, type CertificateFiles, createTokenKeys } from "./certificates.ts";
import { type ClusterAddress, claimClusterAddress } from "./cluster-address.ts";
import { ClusterApi } from "./cluster-api.ts";
import { clusterProgram } from "./cluster-programs.ts";
import { type KubeconfigUser, writeKubeconfig } from "./kubeconfig.ts";
import { Kubectl } from "./kubectl.ts";
import { ServerProcess } from "./server-process.ts";

const startTimeoutMs = 90_000;
const bootstrapToken = "berths.0123456789abcdef";
const ports = { etcd: 2379, etcdPeers: 2380, api: 6443, controllers: 10257, scheduler: 10259 };

interface Keys {
  readonly authority: CertificateAuthority;
  readonly server: CertificateFiles;
  readonly kubeletClient: CertificateFiles;
  readonly admin: CertificateFiles;
  readonly tokens: { readonly private: string; readonly public: string };
}

export interface ControlPlaneOptions {
  /** How long the certificates that nodes ask for are good. */
  readonly certificateLife?: string;
  /** Beside those that every API server gets. */
  readonly apiServerFlags?: readonly string[];
  /** Where the cluster is; without one it claims an address. */
  readonly claim?: ClusterAddress;
}

/**
 * etcd, API server, controllers and scheduler of a cluster of its own, on an address of the loopback interface: Node
 * authorizer, RBAC and NodeRestriction are on. Any number of them can run at once.
 */
export class ControlPlane {
  readonly folder: string;
  readonly network: number;
  readonly address: string;
  readonly server: string;
  readonly kubeconfig: string;
  readonly api: ClusterApi;
  readonly kubectl: Kubectl;
  readonly #claim: ClusterAddress;
  readonly #certificateLife: string;
  readonly #apiServerFlags: readonly string[];
  readonly #keys: Keys;
  readonly #processes = new Map<string, ServerProcess>();

  private constructor(folder: string, claim: ClusterAddress, options: ControlPlaneOptions) {
    this.#certificateLife = options.certificateLife ?? "24h";
    this.#apiServerFlags = options.apiServerFlags ?? [];
    this.folder = folder;
    this.#claim = claim;
    this.network = claim.network;
    this.address = claim.address;
    this.server = `https://${claim.address}:${ports.api}`;
    this.#keys = createKeys(folder, claim.address);
    const { admin, authority } = this.#keys;
    this.kubeconfig = this.#writeKubeconfig("admin", { kind: "certificate", files: admin });
    this.api = new ClusterApi(this.server, authority.files.certificate, admin);
    this.kubectl = new Kubectl(clusterProgram("kubectl"), this.kubeconfig);
  }

  static async start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const claim = options.claim ?? (await claimClusterAddress());
    const folder = makeTestFolder("cluster");
    const plane = new ControlPlane(folder, claim, options);
    try {
      plane.#startEtcd();
      await plane.restartApiServer();
      for (const { path, object } of bootstrapObjects(bootstrapToken)) {
        await plane.api.create(path, object);
      }
      const accounts = "/api/v1/namespaces/default/serviceaccounts";
      await plane.api.until(accounts, (items) => items.length > 0, startTimeoutMs);
    } catch (error) {
      const words = [...plane.#processes].map(
        ([name, server]) => `${name}:\n${server.lastWords()}`,
      );
      await plane.stop();
      throw new Error(`the control plane did not start:\n${words.join("\n")}`, { cause: error });
    }
    return plane;
  }

  /** The authority of the cluster, with its key. */
  get authority(): CertificateFiles {
    return this.#keys.authority.files;
  }

  get authorityFile(): string {
    return this.#keys.authority.files.certificate;
  }

  /** The kubeconfig of a node, as a finished bootstrap would have left it; `port` if it goes through a proxy. */
  nodeKubeconfig(node: string, port: number = ports.api): string {
    const files = this.issue(`node-${node}`, `system:node:${node}`, ["system:nodes"]);
    const server = `https://${this.address}:${port}`;
    return this.#writeKubeconfig(`node-${node}`, { kind: "certificate", files }, server);
  }

  /** A certificate that the API server and kubelets take as that user's. */
  issue(name: string, user: string, groups: readonly string[] = []): CertificateFiles {
    return this.#keys.authority.issue(name, { commonName: user, organizations: groups });
  }

  /** The kubeconfig of a machine that may only ask to become a node. */
  bootstrapKubeconfig(): string {
    return this.#writeKubeconfig("bootstrap", { kind: "token", token: bootstrapToken });
  }

  /** Ends the API server at once, as a crash would. */
  async killApiServer(): Promise<void> {
    await this.#processes.get("kube-apiserver")?.stop("SIGKILL");
  }

  /**
   * Starts the API server, again with the same data; resolves when it is ready. Controllers and scheduler are restarted
   * with it: after an outage they would take up to a minute to retry.
   */
  async restartApiServer(): Promise<void> {
    for (const name of ["kube-scheduler", "kube-controller-manager"]) {
      await this.#processes.get(name)?.stop("SIGKILL");
    }
    this.#startApiServer();
    await this.api.untilHealthy("/readyz", startTimeoutMs);
    this.#startControllers();
    this.#startScheduler();
  }

  /** Ends everything and removes all traces. */
  async stop(): Promise<void> {
    this.api.close();
    for (const process of [...this.#processes.values()].toReversed()) await process.stop("SIGKILL");
    await this.#claim.release();
    await rm(this.folder, { recursive: true, force: true });
  }

  #startApiServer(): void {
    const { address, folder } = this;
    const { server, kubeletClient, tokens } = this.#keys;
    this.#start("kube-apiserver", [
      `--bind-address=${address}`,
      `--advertise-address=${address}`,
      `--secure-port=${ports.api}`,
      `--etcd-servers=http://${address}:${ports.etcd}`,
      `--cert-dir=${folder}`,
      `--tls-cert-file=${server.certificate}`,
      `--tls-private-key-file=${server.key}`,
      `--client-ca-file=${this.authorityFile}`,
      `--kubelet-client-certificate=${kubeletClient.certificate}`,
      `--kubelet-client-key=${kubeletClient.key}`,
      "--kubelet-preferred-address-types=InternalIP",
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      `--service-account-signing-key-file=${tokens.private}`,
      `--service-account-key-file=${tokens.public}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--enable-bootstrap-token-auth=true",
      "--allow-privileged=true",
      ...this.#apiServerFlags,
    ]);
  }

  #startEtcd(): void {
    const clients = `http://${this.address}:${ports.etcd}`;
    const peers = `http://${this.address}:${ports.etcdPeers}`;
    this.#start("etcd", [
      `--data-dir=${join(this.folder, "etcd")}`,
      `--listen-client-urls=${clients}`,
      `--advertise-client-urls=${clients}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=default=${peers}`,
      // The data does not outlive the test.
      "--unsafe-no-fsync",
    ]);
  }

  #startControllers(): void {
    const { certificate, key } = this.#keys.authority.files;
    this.#start("kube-controller-manager", [
      ...this.#controllerFlags(ports.controllers),
      `--root-ca-file=${certificate}`,
      `--service-account-private-key-file=${this.#keys.tokens.private}`,
      `--cluster-signing-cert-file=${certificate}`,
      `--cluster-signing-key-file=${key}`,
      `--cluster-signing-duration=${this.#certificateLife}`,
    ]);
  }

  #startScheduler(): void {
    this.#start("kube-scheduler", this.#controllerFlags(ports.scheduler));
  }

  #controllerFlags(port: number): readonly string[] {
    return [
      `--kubeconfig=${this.kubeconfig}`,
      "--leader-elect=false",
      `--bind-address=${this.address}`,
      `--secure-port=${port}`,
      `--cert-dir=${this.folder}`,
    ];
  }

  #start(name: string, flags: readonly string[]): void {
    const log = join(this.folder, `${name}.log`);
    this.#processes.set(name, new ServerProcess([clusterProgram(name), ...flags], log));
  }

  #writeKubeconfig(name: string, user: KubeconfigUser, server: string = this.server): string {
    const file = join(this.folder, `${name}.kubeconfig`);
    return writeKubeconfig(file, { server, authority: this.authorityFile, user });
  }
}

function createKeys(folder: string, address: string): Keys {
  const certificates = join(folder, "pki");
  mkdirSync(certificates);
  const authority = new CertificateAuthority(certificates, "berth-test");
  return {
    authority,
    server: authority.issue("server", { commonName: "kube-apiserver", addresses: [address] }),
    kubeletClient: authority.issue("kubelet-client", {
      commonName: "kube-apiserver-kubelet-client",
    }),
    admin: authority.issue("admin", { commonName: "admin", organizations: ["system:masters"] }),
    tokens: createTokenKeys(certificates),
  };
}
