// A certificate of a pod, from the first request on:
//
//                ┌────────────┐
//                ▼            │ issued
// initial ──► waiting ──► held ──► held, with a refresh
//    ▲           │  │      ▲            │   │
//    └───────────┘  │      └────────────┘   │
//     request gone  └──► denied, failed ◄───┘
//
import { quoteText } from "../../lib/go-text.ts";
import { pemContents, pemText } from "../../lib/pem-blocks.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { parseTime } from "../../lib/time.ts";
import type { PodCertificateRequest, PodCredentials } from "../../model/pod-certificate.ts";

/** A request that has no answer yet. */
export interface OpenRequest {
  readonly name: string;
  readonly keyPem: string;
  /** A request that is not to be seen at that time was deleted. */
  readonly abandonAtMs: number;
}

interface HeldCertificate extends PodCredentials {
  readonly kind: "held";
  readonly beginRefreshAtMs: number;
  readonly notAfterMs: number;
  readonly refresh: OpenRequest | undefined;
  readonly reported: readonly LateReason[];
}

/** Where a certificate stands. What is denied or failed stays so as long as the pod lives. */
export type PodCertificateState =
  | { readonly kind: "initial" }
  | { readonly kind: "waiting"; readonly request: OpenRequest }
  | { readonly kind: "denied" | "failed"; readonly reason: string; readonly message: string }
  | HeldCertificate;

/** One certificate of a pod. */
export interface PodCertificate {
  readonly signerName: string;
  readonly state: PodCertificateState;
}

type LateReason = "CertificateOverdueForRefresh" | "CertificateExpired";

/** A warning about the pod. */
interface CertificateEvent {
  readonly reason: string;
  readonly message: string;
}

export interface PodCertificateStep {
  readonly state: PodCertificateState;
  /** The next thing to do is to make a key and a request. */
  readonly needsRequest: boolean;
  readonly events: readonly CertificateEvent[];
}

/** What is known now. */
interface Known {
  /** The open request as the API server has it; undefined when it is not to be seen, or none is open. */
  readonly request: PodCertificateRequest | undefined;
  readonly nowMs: number;
  /** From 0 to 1: pods that began together need not ask together. */
  readonly random: number;
}

const minuteMs = 60_000;
const longestJitterMs = 5 * minuteMs;
const deletedMs = 10 * minuteMs;
const overdueMs = 10 * minuteMs;

/** The request that is open. */
export function openRequest(state: PodCertificateState): OpenRequest | undefined {
  if (state.kind === "waiting") return state.request;
  return state.kind === "held" ? state.refresh : undefined;
}

/** The state once a request was created. */
export function withRequest(
  state: PodCertificateState,
  { name, keyPem }: Pick<OpenRequest, "name" | "keyPem">,
  { createdAtMs, random }: { readonly createdAtMs: number; readonly random: number },
): PodCertificateState {
  const request = { name, keyPem, abandonAtMs: createdAtMs + deletedMs + random * longestJitterMs };
  return state.kind === "held" ? { ...state, refresh: request } : { kind: "waiting", request };
}

/** What has come of a certificate, and whether to ask for one. */
export function stepPodCertificate(state: PodCertificateState, known: Known): PodCertificateStep {
  const { state: next, events = [] } = answered(state, known);
  const late = next.kind === "held" ? newlyLate(next, known.nowMs) : [];
  const reported =
    next.kind === "held" && late.length > 0
      ? { ...next, reported: [...next.reported, ...late.map(({ reason }) => reason)] }
      : next;
  return {
    state: reported,
    needsRequest: isDue(next, known.nowMs),
    events: [...events, ...late],
  };
}

function isDue(state: PodCertificateState, nowMs: number): boolean {
  if (state.kind === "initial") return true;
  return state.kind === "held" && state.refresh === undefined && nowMs >= state.beginRefreshAtMs;
}

interface Answered {
  readonly state: PodCertificateState;
  readonly events?: readonly CertificateEvent[];
}

/** The first condition that ends a request counts. */
function answered(state: PodCertificateState, { request, nowMs, random }: Known): Answered {
  const open = openRequest(state);
  if (open === undefined) return { state };
  if (request === undefined) {
    if (nowMs <= open.abandonAtMs) return { state };
    return {
      state: state.kind === "held" ? { ...state, refresh: undefined } : { kind: "initial" },
    };
  }
  const { metadata, status = {} } = request;
  const name = `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
  for (const { type, reason, message } of status.conditions ?? []) {
    if (type === "Denied" || type === "Failed") {
      const kind = type === "Denied" ? "denied" : "failed";
      const verb = type === "Denied" ? "was denied" : "failed";
      const details = `reason=${quoteText(reason)}, message=${quoteText(message)}`;
      return {
        state: { kind, reason, message },
        events: [{ reason: type, message: `PodCertificateRequest ${name} ${verb}, ${details}` }],
      };
    }
    if (type !== "Issued") continue;
    const notAfterMs = parseTime(status.notAfter ?? "") ?? 0;
    const beginRefreshAtMs = parseTime(status.beginRefreshAt ?? "") ?? notAfterMs;
    return {
      state: {
        kind: "held",
        keyPem: open.keyPem,
        chainPem: cleanChain(status.certificateChain ?? ""),
        beginRefreshAtMs: beginRefreshAtMs + random * longestJitterMs,
        notAfterMs,
        refresh: undefined,
        reported: [],
      },
    };
  }
  return { state };
}

/** The certificates alone: nothing that a signer wrote between them. */
function cleanChain(pem: string): string {
  return pemContents(pem, "CERTIFICATE")
    .map((content) => pemText("CERTIFICATE", content))
    .join("");
}

function newlyLate(
  { beginRefreshAtMs, notAfterMs, reported }: HeldCertificate,
  nowMs: number,
): readonly (CertificateEvent & { readonly reason: LateReason })[] {
  const late: (CertificateEvent & { readonly reason: LateReason })[] = [];
  if (nowMs > beginRefreshAtMs + overdueMs) {
    late.push({
      reason: "CertificateOverdueForRefresh",
      message: "PodCertificate refresh overdue",
    });
  }
  if (nowMs > notAfterMs) {
    late.push({ reason: "CertificateExpired", message: "PodCertificate expired" });
  }
  return late.filter(({ reason }) => !reported.includes(reason));
}

/** What the pod shows; one that is late or expired goes on being shown until there is another. */
export function credentialsOf(state: PodCertificateState): Result<PodCredentials, string> {
  switch (state.kind) {
    case "initial":
    case "waiting":
      return err("credential bundle is not issued yet");
    case "denied":
    case "failed":
      return err(
        `PodCertificateRequest was permanently ${state.kind}: reason=${quoteText(state.reason)} message=${quoteText(state.message)}`,
      );
    case "held":
      return ok({ keyPem: state.keyPem, chainPem: state.chainPem });
  }
}

/** As metrics have it. */
export function certificateLabel(state: PodCertificateState, nowMs: number): string {
  switch (state.kind) {
    case "initial":
    case "waiting":
      return "not_yet_issued";
    case "denied":
    case "failed":
      return state.kind;
    case "held":
      if (nowMs > state.notAfterMs) return "expired";
      return nowMs > state.beginRefreshAtMs + overdueMs ? "overdue_for_refresh" : "fresh";
  }
}
