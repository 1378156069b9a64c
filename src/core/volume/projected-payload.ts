import { joinedErrors } from "../../lib/joined-errors.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type {
  ClusterTrustBundleProjection,
  ConfigMap,
  ProjectedVolumeSource,
  Secret,
  VolumeProjection,
} from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import type { Pod } from "../../model/pod.ts";
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
      return answeredPayload(source.serviceAccountToken, answers.tokens, defaultMode, inputs);
    case "clusterTrustBundle":
      return answeredPayload(source.clusterTrustBundle, answers.trustAnchors, defaultMode, inputs);
    case undefined:
      return ok(new Map());
  }
}

function answeredPayload(
  { path = "" }: { readonly path?: string } = {},
  answers: Iterator<Result<string, string>>,
  defaultMode: number,
  { fsGroup, fsUser }: ProjectedInputs,
): Result<Payload, readonly string[]> {
  const next = answers.next();
  const answer = next.done === true ? err(`there is nothing for ${path}`) : next.value;
  if (!answer.ok) return err([answer.error]);
  // Others than the pod's user get to the token by the group only, which the change of ownership adds.
  const mode = fsUser === undefined && fsGroup === undefined ? defaultMode : 0o600;
  return ok(new Map([[path, { data: encoder.encode(answer.value), mode, ownerUid: fsUser }]]));
}

// The first of several counts, in this order.
function kindOf(source: VolumeProjection) {
  const kinds = [
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
  ] as const;
  return kinds.find((kind) => source[kind] !== undefined);
}

function listed<T>(result: Result<T, string>): Result<T, readonly string[]> {
  return result.ok ? result : err([result.error]);
}
