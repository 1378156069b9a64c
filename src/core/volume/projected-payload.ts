import { joinedErrors } from "../../lib/joined-errors.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type {
  ClusterTrustBundleProjection,
  ConfigMap,
  PodCertificateProjection,
  ProjectedVolumeSource,
  Secret,
  VolumeProjection,
} from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodCredentials } from "../../model/pod-certificate.ts";
import type { ServiceAccountTokenRequest } from "../../model/service-account-token.ts";
import type { Payload } from "../../model/volume-payload.ts";
import { downwardPayload } from "./downward-payload.ts";
import {
  configMapPayload,
  type KeySelection,
  noDefaultMode,
  secretPayload,
} from "./key-payload.ts";
import { optionalObject } from "./optional-object.ts";
import { maxPayloadBytes, payloadBytes, payloadTooLarge } from "./payload-size.ts";

/** All that a projected volume takes its files from. */
export interface ProjectedInputs {
  readonly pod: Pod;
  readonly configMap: (namespace: string, name: string) => Result<ConfigMap, LookUpFailure>;
  readonly secret: (namespace: string, name: string) => Result<Secret, LookUpFailure>;
  readonly allocatable: Readonly<Record<string, string>>;
  /** Answers to the token requests, in their order. */
  readonly tokens: readonly Result<string, string>[];
  /** Answers to what is asked of trust bundles, in their order. */
  readonly trustAnchors: readonly Result<string, string>[];
  /** The certificates of the pod that its sources want, in their order. */
  readonly certificates: readonly Result<PodCredentials, string>[];
  readonly fsGroup: number | undefined;
  readonly fsUser: number | undefined;
}

const encoder = new TextEncoder();

/** The service account tokens that a projected volume needs, one for each such source. */
export function projectedTokenRequests(
  { defaultMode, sources = [] }: ProjectedVolumeSource,
  pod: Pod,
): readonly ServiceAccountTokenRequest[] {
  if (defaultMode === undefined) return [];
  return sources
    .filter((source) => kindOf(source) === "serviceAccountToken")
    .map(({ serviceAccountToken }) => {
      const { audience = "", expirationSeconds } = serviceAccountToken ?? {};
      return {
        namespace: pod.metadata.namespace,
        name: pod.spec.serviceAccountName ?? "",
        spec: {
          audiences: audience === "" ? undefined : [audience],
          expirationSeconds,
          boundObjectRef: {
            apiVersion: "v1",
            kind: "Pod",
            name: pod.metadata.name,
            uid: pod.metadata.uid,
          },
        },
      };
    });
}

/** What a projected volume asks of trust bundles, one for each such source. */
export function projectedTrustBundles({
  defaultMode,
  sources = [],
}: ProjectedVolumeSource): readonly ClusterTrustBundleProjection[] {
  if (defaultMode === undefined) return [];
  return sources
    .filter((source) => kindOf(source) === "clusterTrustBundle")
    .flatMap(({ clusterTrustBundle }) => clusterTrustBundle ?? []);
}

/** The certificates that a projected volume wants, with the place of their source. */
export function projectedCertificates({
  defaultMode,
  sources = [],
}: ProjectedVolumeSource): readonly (readonly [index: number, PodCertificateProjection])[] {
  if (defaultMode === undefined) return [];
  return sources.flatMap((source, index) => {
    const { podCertificate } = source;
    const isWanted = kindOf(source) === "podCertificate" && podCertificate !== undefined;
    return isWanted ? [[index, podCertificate] as const] : [];
  });
}

/** The files of all sources; of two at one path the later. Every source that cannot be had is named. */
export function projectedPayload(
  { defaultMode, sources = [] }: ProjectedVolumeSource,
  inputs: ProjectedInputs,
): Result<Payload, string> {
  if (defaultMode === undefined) return err(noDefaultMode);
  const problems: string[] = [];
  const payloads: Payload[] = [];
  let leftBytes = maxPayloadBytes;
  const answers: Answers = {
    tokens: inputs.tokens.values(),
    trustAnchors: inputs.trustAnchors.values(),
    certificates: inputs.certificates.values(),
  };
  for (const source of sources) {
    const payload = sourcePayload(source, defaultMode, inputs, answers);
    if (!payload.ok) {
      problems.push(...payload.error);
      continue;
    }
    leftBytes -= payloadBytes(payload.value);
    if (leftBytes < 0) return err(payloadTooLarge);
    payloads.push(payload.value);
  }
  if (problems.length > 0) return err(joinedErrors(problems));
  return ok(new Map(payloads.flatMap((payload) => [...payload])));
}

/** What others have answered, for each source the next. */
interface Answers {
  readonly tokens: Iterator<Result<string, string>>;
  readonly trustAnchors: Iterator<Result<string, string>>;
  readonly certificates: Iterator<Result<PodCredentials, string>>;
}

function sourcePayload(
  source: VolumeProjection,
  defaultMode: number,
  inputs: ProjectedInputs,
  answers: Answers,
): Result<Payload, readonly string[]> {
  const { namespace } = inputs.pod.metadata;
  switch (kindOf(source)) {
    case "secret": {
      const selection: KeySelection = { ...source.secret, defaultMode };
      const found = inputs.secret(namespace, source.secret?.name ?? "");
      const secret = optionalObject(found, selection.optional);
      return listed(secret.ok ? secretPayload(secret.value, selection) : secret);
    }
    case "configMap": {
      const selection: KeySelection = { ...source.configMap, defaultMode };
      const found = inputs.configMap(namespace, source.configMap?.name ?? "");
      const configMap = optionalObject(found, selection.optional);
      return listed(configMap.ok ? configMapPayload(configMap.value, selection) : configMap);
    }
    case "downwardAPI":
      return downwardPayload(
        { items: source.downwardAPI?.items, defaultMode },
        inputs.pod,
        inputs.allocatable,
      );
    case "serviceAccountToken":
      return answeredPayload(answers.tokens, defaultMode, inputs, (token) => [
        [source.serviceAccountToken?.path, token],
      ]);
    case "clusterTrustBundle":
      return answeredPayload(answers.trustAnchors, defaultMode, inputs, (anchors) => [
        [source.clusterTrustBundle?.path, anchors],
      ]);
    case "podCertificate":
      return answeredPayload(answers.certificates, defaultMode, inputs, (credentials) =>
        certificateFiles(source.podCertificate, credentials),
      );
    case undefined:
      return ok(new Map());
  }
}

/** A file is at its path; one without a path is not wanted. */
type PathAndText = readonly [path: string | undefined, text: string];

function certificateFiles(
  projection: PodCertificateProjection | undefined,
  { keyPem, chainPem }: PodCredentials,
): readonly PathAndText[] {
  const { credentialBundlePath, keyPath, certificateChainPath } = projection ?? {};
  return [
    [credentialBundlePath, keyPem + chainPem],
    [keyPath, keyPem],
    [certificateChainPath, chainPem],
  ];
}

function answeredPayload<T>(
  answers: Iterator<Result<T, string>>,
  defaultMode: number,
  { fsGroup, fsUser }: ProjectedInputs,
  filesOf: (answer: T) => readonly PathAndText[],
): Result<Payload, readonly string[]> {
  const next = answers.next();
  const answer = next.done === true ? err("there is no answer") : next.value;
  if (!answer.ok) return err([answer.error]);
  // Others than the pod's user get to the token by the group only, which the change of ownership adds.
  const mode = fsUser === undefined && fsGroup === undefined ? defaultMode : 0o600;
  const files = filesOf(answer.value).flatMap(([path = "", text]) =>
    path === "" ? [] : [[path, { data: encoder.encode(text), mode, ownerUid: fsUser }] as const],
  );
  return ok(new Map(files));
}

// The first of several counts, in this order.
function kindOf(source: VolumeProjection) {
  const kinds = [
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
    "podCertificate",
  ] as const;
  return kinds.find((kind) => source[kind] !== undefined);
}

function listed<T>(result: Result<T, string>): Result<T, readonly string[]> {
  return result.ok ? result : err([result.error]);
}
