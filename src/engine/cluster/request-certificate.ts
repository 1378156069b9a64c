import { decodeBase64, encodeBase64 } from "../../lib/base64.ts";
import { errorText } from "../../lib/error-text.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestList,
} from "../../model/generated/kubernetes.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const retryMs = 1000;

export interface CertificateOrder {
  readonly csrPem: string;
  /** Undefined = a new one. With a name, a request of that name that exists already is used again. */
  readonly name?: string | undefined;
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** A request that the API server has. */
export interface PlacedOrder {
  readonly name: string;
  readonly uid: string;
}

/** Sends a request for a certificate to the API server. */
export async function placeOrder(
  api: ApiClient,
  { csrPem, name, signerName, usages }: CertificateOrder,
  signal: AbortSignal,
): Promise<PlacedOrder> {
  const body: CertificateSigningRequest = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: name === undefined ? { generateName: "csr-" } : { name },
    spec: { request: encodeBase64(csrPem), signerName, usages },
  };
  try {
    return placed(await api.send({ method: "POST", path, body }, signal));
  } catch (error) {
    if (name === undefined || !isApiStatus(error, 409)) throw error;
  }
  const there = await api.send<CertificateSigningRequest>(
    { method: "GET", path: `${path}/${encodeURIComponent(name)}` },
    signal,
  );
  if (there.spec.signerName !== signerName) {
    throw new Error(`the certificate signing request ${name} exists already, for another signer`);
  }
  return placed(there);
}

function placed({ metadata }: CertificateSigningRequest): PlacedOrder {
  return { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}

/** Waits until the certificate is issued, and returns it as PEM. Rejects when it is denied or failed. */
export async function awaitCertificate(
  api: ApiClient,
  order: PlacedOrder,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<string> {
  const fieldSelector = `metadata.name=${order.name}`;
  for (;;) {
    try {
      const list = await api.send<CertificateSigningRequestList>(
        { method: "GET", path, query: { fieldSelector } },
        signal,
      );
      const [now] = list.items;
      if (now === undefined) throw new OrderError(`csr "${order.name}" was deleted`);
      const issued = issuedPem(now, order);
      if (issued !== undefined) return issued;
      const resourceVersion = list.metadata?.resourceVersion ?? "";
      const later = await watchOrder(api, order, { fieldSelector, resourceVersion }, signal);
      if (later !== undefined) return later;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OrderError) throw error;
      log.debug("cannot see the certificate signing request", { error: errorText(error) });
      await clock.sleep(retryMs, signal);
    }
  }
}

class OrderError extends Error {}

/** Undefined when the watch ended before anything was decided. */
async function watchOrder(
  api: ApiClient,
  order: PlacedOrder,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const done = new AbortController();
  let outcome: { readonly pem: string } | { readonly error: unknown } | undefined;
  const watch = api.watch<CertificateSigningRequest>(
    { path, query },
    ({ type, object }) => {
      if (type === "BOOKMARK") return;
      try {
        if (type === "DELETED") throw new OrderError(`csr "${order.name}" was deleted`);
        const pem = issuedPem(object, order);
        if (pem !== undefined) outcome = { pem };
      } catch (error) {
        outcome = { error };
      }
      if (outcome !== undefined) done.abort();
    },
    AbortSignal.any([signal, done.signal]),
  );
  await watch.catch((error: unknown) => {
    if (outcome === undefined) throw error;
  });
  if (outcome === undefined) return undefined;
  if ("error" in outcome) throw outcome.error;
  return outcome.pem;
}

/** The certificate, once the request is approved and signed. */
function issuedPem(csr: CertificateSigningRequest, { name, uid }: PlacedOrder): string | undefined {
  if (csr.metadata?.uid !== uid) throw new OrderError(`csr "${name}" changed UIDs`);
  const { conditions = [], certificate = "" } = csr.status ?? {};
  for (const { type, reason = "", message = "" } of conditions) {
    if (type !== "Denied" && type !== "Failed") continue;
    const outcome = type === "Denied" ? "is denied" : "failed";
    throw new OrderError(
      `certificate signing request ${outcome}, reason: ${reason}, message: ${message}`,
    );
  }
  const isApproved = conditions.some(({ type }) => type === "Approved");
  if (!isApproved || certificate === "") return undefined;
  const bytes = decodeBase64(certificate);
  if (bytes === undefined)
    throw new OrderError(`csr "${name}" has a certificate that is not base64`);
  return decodeUtf8(bytes);
}
