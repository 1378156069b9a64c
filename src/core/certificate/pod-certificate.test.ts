import { expect, test } from "vitest";
import { formatTime } from "../../lib/time.ts";
import type { PodCertificateRequest } from "../../model/pod-certificate.ts";
import {
  certificateLabel,
  credentialsOf,
  openRequest,
  type PodCertificateState,
  stepPodCertificate,
  withRequest,
} from "./pod-certificate.ts";

const minuteMs = 60_000;
const nowMs = Date.parse("2026-05-01T12:00:00Z");
const leaf = "-----BEGIN CERTIFICATE-----\nbGVhZg==\n-----END CERTIFICATE-----\n";
const issuer = "-----BEGIN CERTIFICATE-----\naXNzdWVy\n-----END CERTIFICATE-----\n";

function waiting(name = "req-1"): PodCertificateState {
  const request = { name, keyPem: `key of ${name}` };
  return withRequest({ kind: "initial" }, request, { createdAtMs: nowMs, random: 0 });
}

function request(
  type: "Denied" | "Failed" | "Issued" | undefined,
  chain = leaf,
): PodCertificateRequest {
  const condition = { status: "True", reason: "Why", message: 'a "word"' };
  const lastTransitionTime = formatTime(nowMs);
  return {
    metadata: { namespace: "ns", name: "req-1" },
    spec: {
      signerName: "example.com/mesh",
      podName: "p",
      podUID: "u",
      serviceAccountName: "default",
      serviceAccountUID: "a",
      nodeName: "n",
      nodeUID: "b",
      stubPKCS10Request: "",
    },
    status:
      type === undefined
        ? {}
        : {
            conditions: [{ type, ...condition, lastTransitionTime }],
            certificateChain: chain,
            beginRefreshAt: formatTime(nowMs + 60 * minuteMs),
            notAfter: formatTime(nowMs + 120 * minuteMs),
          },
  };
}

function step(
  state: PodCertificateState,
  afterMinutes: number,
  seen?: PodCertificateRequest,
  random = 0,
) {
  return stepPodCertificate(state, {
    request: seen,
    nowMs: nowMs + afterMinutes * minuteMs,
    random,
  });
}

const held = step(waiting(), 0, request("Issued")).state;
const refreshing = withRequest(
  held,
  { name: "req-2", keyPem: "key of req-2" },
  { createdAtMs: nowMs + 60 * minuteMs, random: 0 },
);

test("the first thing to do is to ask, and then to wait", () => {
  expect(step({ kind: "initial" }, 0)).toEqual({
    state: { kind: "initial" },
    needsRequest: true,
    events: [],
  });
  expect(step(waiting(), 9, request(undefined))).toEqual({
    state: waiting(),
    needsRequest: false,
    events: [],
  });
  expect(credentialsOf(waiting())).toEqual({
    ok: false,
    error: "credential bundle is not issued yet",
  });
});

test("a request that is not to be seen may come late, and after ten minutes there is another", () => {
  expect(step(waiting(), 10).needsRequest).toBe(false);
  expect(step(waiting(), 10.1)).toMatchObject({ state: { kind: "initial" }, needsRequest: true });
  const lucky = withRequest(
    { kind: "initial" },
    { name: "req-1", keyPem: "" },
    { createdAtMs: nowMs, random: 0.99 },
  );
  expect(step(lucky, 14.9).needsRequest).toBe(false);
});

test("an issued certificate is shown with the key of its request, and without what lies between", () => {
  const chain = `my certificate\n${leaf}and its issuer\n${issuer}`;
  const { state, needsRequest } = step(waiting(), 1, request("Issued", chain));
  expect(credentialsOf(state)).toEqual({
    ok: true,
    value: { keyPem: "key of req-1", chainPem: leaf + issuer },
  });
  expect(needsRequest).toBe(false);
});

test.each([
  ["Denied", "was denied", "denied"],
  ["Failed", "failed", "failed"],
] as const)("a request that is %s is over for good, with an event", (type, verb, kind) => {
  for (const state of [waiting(), refreshing]) {
    const ended = step(state, 61, request(type));
    const details = String.raw`reason="Why", message="a \"word\""`;
    expect(ended.events).toEqual([
      { reason: type, message: `PodCertificateRequest ns/req-1 ${verb}, ${details}` },
    ]);
    expect(credentialsOf(ended.state)).toEqual({
      ok: false,
      error: String.raw`PodCertificateRequest was permanently ${kind}: reason="Why" message="a \"word\""`,
    });
    expect(step(ended.state, 999)).toEqual({ state: ended.state, needsRequest: false, events: [] });
  }
});

test("a certificate is renewed from the time on that its signer says, or up to five minutes later", () => {
  expect(step(held, 59).needsRequest).toBe(false);
  expect(step(held, 60).needsRequest).toBe(true);
  const later = step(waiting(), 0, request("Issued"), 0.5).state;
  expect(step(later, 62).needsRequest).toBe(false);
  expect(step(later, 63).needsRequest).toBe(true);
});

test("the old certificate is shown until the new one is issued", () => {
  const pending = step(refreshing, 61, request(undefined));
  expect(pending).toEqual({ state: refreshing, needsRequest: false, events: [] });
  expect(credentialsOf(pending.state)).toEqual({
    ok: true,
    value: { keyPem: "key of req-1", chainPem: leaf },
  });
  const { state } = step(refreshing, 61, request("Issued", issuer));
  expect(credentialsOf(state)).toEqual({
    ok: true,
    value: { keyPem: "key of req-2", chainPem: issuer },
  });
  expect(openRequest(state)).toBeUndefined();
});

test("a renewal that is not to be seen is given up, and asked for again", () => {
  expect(step(refreshing, 70.5)).toMatchObject({
    state: { kind: "held", refresh: undefined },
    needsRequest: true,
  });
});

test("a renewal that is late is reported once, and so is the end of the certificate", () => {
  const late = step(refreshing, 71, request(undefined));
  expect(late.events).toEqual([
    { reason: "CertificateOverdueForRefresh", message: "PodCertificate refresh overdue" },
  ]);
  expect(step(late.state, 72, request(undefined)).events).toEqual([]);
  const expired = step(late.state, 121, request(undefined));
  expect(expired.events).toEqual([
    { reason: "CertificateExpired", message: "PodCertificate expired" },
  ]);
  expect(step(expired.state, 122, request(undefined)).events).toEqual([]);
  expect(credentialsOf(expired.state).ok).toBe(true);
});

test("metrics have certificates by where they stand", () => {
  const at = (state: PodCertificateState, minutes: number) =>
    certificateLabel(state, nowMs + minutes * minuteMs);
  expect(at({ kind: "initial" }, 0)).toBe("not_yet_issued");
  expect(at(waiting(), 0)).toBe("not_yet_issued");
  expect(at(step(waiting(), 0, request("Denied")).state, 0)).toBe("denied");
  expect(at(step(waiting(), 0, request("Failed")).state, 0)).toBe("failed");
  expect([0, 70, 71, 121].map((minutes) => at(refreshing, minutes))).toEqual([
    "fresh",
    "fresh",
    "overdue_for_refresh",
    "expired",
  ]);
});
