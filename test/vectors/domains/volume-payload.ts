import { downwardPayload } from "../../../src/core/volume/downward-payload.ts";
import { configMapPayload, secretPayload } from "../../../src/core/volume/key-payload.ts";
import {
  projectedPayload,
  projectedTokenRequests,
} from "../../../src/core/volume/projected-payload.ts";
import { joinedErrors } from "../../../src/lib/joined-errors.ts";
import { err, ok, type Result } from "../../../src/lib/result.ts";
import type {
  ConfigMap,
  ConfigMapVolumeSource,
  DownwardAPIVolumeSource,
  ProjectedVolumeSource,
  Secret,
  SecretVolumeSource,
} from "../../../src/model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../../src/model/look-up-failure.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { Payload } from "../../../src/model/volume-payload.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type VolumePayloadInput = {
  readonly pod: Pod;
  readonly configMaps?: readonly ConfigMap[];
  readonly secrets?: readonly Secret[];
  readonly fsGroup?: number;
  readonly fsUser?: number;
  readonly tokenError?: boolean;
} & (
  | { readonly kind: "configMap"; readonly source: ConfigMapVolumeSource }
  | { readonly kind: "secret"; readonly source: SecretVolumeSource }
  | { readonly kind: "downwardAPI"; readonly source: DownwardAPIVolumeSource }
  | { readonly kind: "projected"; readonly source: ProjectedVolumeSource }
);

export const volumePayload: VectorDomain = vectorDomain<VolumePayloadInput>(
  "volume-payload",
  (input) => {
    const payload = payloadOf(input);
    const requests =
      input.kind === "projected" ? projectedTokenRequests(input.source, input.pod) : [];
    return {
      ...(payload.ok ? { payload: encodePayload(payload.value) } : { error: payload.error }),
      tokenRequests: requests,
    };
  },
);

function payloadOf(input: VolumePayloadInput): Result<Payload, string> {
  const { pod, configMaps = [], secrets = [] } = input;
  switch (input.kind) {
    case "configMap":
      return configMapPayload(configMaps[0] ?? {}, input.source);
    case "secret":
      return secretPayload(secrets[0] ?? {}, input.source);
    case "downwardAPI": {
      const payload = downwardPayload(input.source, pod, {});
      return payload.ok ? payload : err(joinedErrors(payload.error));
    }
    case "projected":
      return projectedPayload(input.source, {
        pod,
        configMap: lookUp("configmaps", configMaps),
        secret: lookUp("secrets", secrets),
        allocatable: {},
        tokens: projectedTokenRequests(input.source, pod).map(({ spec }) => {
          const { audiences = [""], expirationSeconds = "" } = spec;
          if (input.tokenError === true) return err("token denied");
          return ok(`tok-${audiences.join()}-${expirationSeconds}`);
        }),
        trustAnchors: [],
        certificates: [],
        fsGroup: input.fsGroup,
        fsUser: input.fsUser,
      });
  }
}

function lookUp<T extends ConfigMap | Secret>(resource: string, objects: readonly T[]) {
  return (_: string, name: string): Result<T, LookUpFailure> => {
    const found = objects.find(({ metadata }) => metadata?.name === name);
    if (found !== undefined) return ok(found);
    return err({ code: "not-found", message: `${resource} "${name}" not found` });
  };
}

function encodePayload(payload: Payload): unknown {
  return Object.fromEntries(
    [...payload].map(([path, { data, mode, ownerUid }]) => [
      path,
      { data: Buffer.from(data).toString("base64"), mode, fsUser: ownerUid },
    ]),
  );
}
