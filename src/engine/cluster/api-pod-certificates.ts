import {
  certificateLabel,
  credentialsOf,
  openRequest,
  type PodCertificate,
  type PodCertificateState,
  stepPodCertificate,
  withRequest,
} from "../../core/certificate/pod-certificate.ts";
import { withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { parseTime } from "../../lib/time.ts";
import type { Node, ServiceAccount } from "../../model/generated/kubernetes.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { PodCertificateRequest, PodCredentials } from "../../model/pod-certificate.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodCertificates, PodKeys, WantedCertificate } from "../../ports/pod-certificates.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import { namespacedPath, readLimitMs, readObject } from "./read-object.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ApiPodCertificatesDeps
  extends Pick<ReflectorOptions<PodCertificateRequest>, "api" | "clock" | "random" | "log"> {
  readonly nodeName: string;
  /** This node. */
  readonly nodes: Pick<Reflector<Node>, "items">;
  readonly podKeys: PodKeys;
  readonly podEvents: PodEvents;
  readonly table: PodTable;
  readonly wakeups: Pick<Wakeups, "noteObject">;
  readonly lifetime: AbortSignal;
}

const group = "certificates.k8s.io/v1beta1";
const resource = "podcertificaterequests";

/**
 * Asks signers of the cluster for certificates of pods, and for the next one when it is time. Each is looked at when its volume asks,
 * which is at every sync of its pod. Nothing of it outlives the agent: another one asks for new ones.
 */
export class ApiPodCertificates implements PodCertificates {
  readonly #deps: ApiPodCertificatesDeps;
  readonly #certificates: SliceWriter<"certificates">;
  /** Of this node; undefined until a pod asks. */
  #requests: Reflector<PodCertificateRequest> | undefined;

  constructor(deps: ApiPodCertificatesDeps) {
    this.#deps = deps;
    this.#certificates = deps.table.writer("certificates");
  }

  async credentials(
    wanted: WantedCertificate,
    signal: AbortSignal,
  ): Promise<Result<PodCredentials, string>> {
    const { clock, random, podEvents, log } = this.#deps;
    this.#requests ??= this.#follow();
    const { metadata } = wanted.pod;
    const before: PodCertificateState = this.#find(wanted)?.state ?? { kind: "initial" };
    const open = openRequest(before);
    // Whether the request is still there is not known before.
    if (open !== undefined && !this.#requests.isSynced) return this.#answer(before);
    const step = stepPodCertificate(before, {
      request: this.#requests.items.get(`${metadata.namespace}/${open?.name}`),
      nowMs: clock.nowMs(),
      random: random(),
    });
    this.#keep(wanted, step.state);
    for (const event of step.events) {
      podEvents.record(wanted.pod, { type: "Warning", ...event });
    }
    if (!step.needsRequest) return this.#answer(step.state);
    const asked = await this.#ask(wanted, step.state, signal);
    if (asked.ok) {
      this.#keep(wanted, asked.value);
      return this.#answer(asked.value);
    }
    if (step.state.kind !== "held") return asked;
    log.warn("cannot renew a certificate of a pod", {
      pod: `${metadata.namespace}/${metadata.name}`,
      volume: wanted.volumeName,
      error: asked.error,
    });
    return credentialsOf(step.state);
  }

  /** Forgets the certificates of a pod that is gone. */
  release(uid: PodUid): void {
    this.#certificates.set(uid, undefined);
  }

  /** Counts certificates by their signer and where they stand. */
  collect(metrics: Metrics): void {
    const nowMs = this.#deps.clock.nowMs();
    metrics.reset("kubelet_podcertificate_states");
    for (const [, certificates] of this.#certificates.entries()) {
      for (const { signerName, state } of certificates.values()) {
        const labels = { signer_name: signerName, state: certificateLabel(state, nowMs) };
        metrics.increment("kubelet_podcertificate_states", labels);
      }
    }
  }

  #find(wanted: WantedCertificate): PodCertificate | undefined {
    return this.#certificates.get(wanted.pod.metadata.uid)?.get(certificateKey(wanted));
  }

  #keep(wanted: WantedCertificate, state: PodCertificateState): void {
    const { uid } = wanted.pod.metadata;
    // The pod may have gone meanwhile: a certificate does not bring its entry back.
    if (this.#deps.table.get(uid) === undefined) return;
    const { signerName } = wanted.projection;
    const certificates = new Map(this.#certificates.get(uid));
    this.#certificates.set(uid, certificates.set(certificateKey(wanted), { signerName, state }));
  }

  #answer(state: PodCertificateState): Result<PodCredentials, string> {
    const answer = credentialsOf(state);
    const failure = this.#requests?.failure;
    if (openRequest(state) === undefined || answer.ok || failure === undefined) return answer;
    return err(`${answer.error}: cannot watch PodCertificateRequests: ${failure}`);
  }

  async #ask(
    wanted: WantedCertificate,
    state: PodCertificateState,
    signal: AbortSignal,
  ): Promise<Result<PodCertificateState, string>> {
    const { api, clock, random, podKeys } = this.#deps;
    try {
      const account = await this.#accountUid(wanted, signal);
      const { keyPem, request } = await podKeys.create(wanted.projection.keyType);
      const body = this.#requestFor(wanted, account, request);
      const path = `/apis/${group}/namespaces/${encodeURIComponent(wanted.pod.metadata.namespace)}/${resource}`;
      const limit = { ms: readLimitMs, what: `POST ${path}` };
      const { metadata } = await withDeadline(clock, limit, signal, (late) =>
        api.send<PodCertificateRequest>({ method: "POST", path, body }, late),
      );
      const createdAtMs = parseTime(metadata?.creationTimestamp ?? "") ?? clock.nowMs();
      const times = { createdAtMs, random: random() };
      return ok(withRequest(state, { name: metadata?.name ?? "", keyPem }, times));
    } catch (error) {
      signal.throwIfAborted();
      return err(`cannot request a certificate: ${errorText(error)}`);
    }
  }

  async #accountUid({ pod }: WantedCertificate, signal: AbortSignal): Promise<string> {
    const { namespace } = pod.metadata;
    const path = namespacedPath("serviceaccounts", {
      namespace,
      name: pod.spec.serviceAccountName ?? "",
    });
    const account = await readObject<ServiceAccount>(this.#deps, path, signal);
    if (!account.ok) throw new Error(account.error.message);
    return account.value.metadata?.uid ?? "";
  }

  #requestFor(
    { pod, projection }: WantedCertificate,
    serviceAccountUID: string,
    stubPKCS10Request: string,
  ): PodCertificateRequest {
    const { nodeName, nodes } = this.#deps;
    const nodeUID = nodes.items.get(nodeName)?.metadata?.uid;
    if (nodeUID === undefined) throw new Error(`node "${nodeName}" not found`);
    const { name, namespace, uid } = pod.metadata;
    const { signerName, maxExpirationSeconds, userAnnotations } = projection;
    return {
      apiVersion: group,
      kind: "PodCertificateRequest",
      metadata: {
        namespace,
        generateName: "req-",
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
      },
      spec: {
        signerName,
        podName: name,
        podUID: uid,
        serviceAccountName: pod.spec.serviceAccountName ?? "",
        serviceAccountUID,
        nodeName,
        nodeUID,
        maxExpirationSeconds,
        stubPKCS10Request,
        unverifiedUserAnnotations: userAnnotations,
      },
    };
  }

  #follow(): Reflector<PodCertificateRequest> {
    const requests = new Reflector<PodCertificateRequest>({
      ...this.#deps,
      path: `/apis/${group}/${resource}`,
      // A node sees its own only, and only if it asks for them alone.
      query: { fieldSelector: `spec.nodeName=${this.#deps.nodeName}` },
      sink: {
        deliver: (items, changed) => {
          for (const key of changed) this.#noteRequest(items.get(key));
        },
      },
    });
    void requests.run(this.#deps.lifetime);
    return requests;
  }

  /** The volume that waits for the request is tried again. */
  #noteRequest(request: PodCertificateRequest | undefined): void {
    if (request === undefined) return;
    const uid = podUid(request.spec.podUID);
    const states = [...(this.#certificates.get(uid)?.values() ?? [])];
    const isAwaited = states.some(
      ({ state }) => openRequest(state)?.name === request.metadata?.name,
    );
    if (isAwaited) this.#deps.wakeups.noteObject(uid);
  }
}

function certificateKey({ volumeName, sourceIndex }: WantedCertificate): string {
  return `${volumeName}/${sourceIndex}`;
}
