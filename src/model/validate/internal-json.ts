// Some refusals show a whole object, under the field names that the API server uses for it inside.
import type {
  ClusterTrustBundleProjection,
  LabelSelector,
  PodResourceClaim,
  SeccompProfile,
  SecurityContext,
} from "../generated/kubernetes.ts";
import type { ShownAsJson } from "./field-error.ts";
import { sortedEntries } from "./labels.ts";

export function shownSecurityContext(context: SecurityContext): ShownAsJson {
  const { capabilities, seLinuxOptions, windowsOptions, seccompProfile, appArmorProfile } = context;
  return {
    json: {
      Capabilities: fields(capabilities, ["add", "drop"]),
      Privileged: context.privileged ?? null,
      SELinuxOptions: texts(seLinuxOptions, ["user", "role", "type", "level"]),
      WindowsOptions: fields(
        windowsOptions,
        ["gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName", "hostProcess"],
        {
          gmsaCredentialSpecName: "GMSACredentialSpecName",
          gmsaCredentialSpec: "GMSACredentialSpec",
        },
      ),
      RunAsUser: context.runAsUser ?? null,
      RunAsGroup: context.runAsGroup ?? null,
      RunAsNonRoot: context.runAsNonRoot ?? null,
      ReadOnlyRootFilesystem: context.readOnlyRootFilesystem ?? null,
      AllowPrivilegeEscalation: context.allowPrivilegeEscalation ?? null,
      ProcMount: context.procMount ?? null,
      SeccompProfile: fields(seccompProfile, ["type", "localhostProfile"]),
      AppArmorProfile: fields(appArmorProfile, ["type", "localhostProfile"]),
    },
  };
}

export function shownSeccompProfile(profile: SeccompProfile): ShownAsJson {
  return { json: fields(profile, ["type", "localhostProfile"]) };
}

export function shownResourceClaim(claim: PodResourceClaim): ShownAsJson {
  return { json: fields(claim, ["name", "resourceClaimName", "resourceClaimTemplateName"]) };
}

export function shownTrustBundle(bundle: ClusterTrustBundleProjection): ShownAsJson {
  const { labelSelector } = bundle;
  const shown = {
    ...bundle,
    ...(labelSelector === undefined ? {} : { labelSelector: selectorJson(labelSelector) }),
  };
  return { json: fields(shown, ["name", "signerName", "labelSelector", "optional", "path"]) };
}

export function shownLabelSelector(selector: LabelSelector): ShownAsJson {
  return { json: selectorJson(selector) };
}

/** A selector has one form inside and outside; empty parts are left out. */
function selectorJson({ matchLabels, matchExpressions = [] }: LabelSelector): LabelSelector {
  const labels = sortedEntries(matchLabels);
  return {
    ...(labels.length === 0 ? {} : { matchLabels: Object.fromEntries(labels) }),
    ...(matchExpressions.length === 0
      ? {}
      : {
          matchExpressions: matchExpressions.map(({ key, operator, values = [] }) => ({
            key,
            operator,
            ...(values.length === 0 ? {} : { values }),
          })),
        }),
  };
}

type FieldsOf<T> = readonly (keyof T & string)[];

/** The fields in the order given, under upper case names; absent ones are null. */
function fields<T extends object>(
  value: T | undefined,
  names: FieldsOf<T>,
  renamed: { readonly [K in keyof T]?: string } = {},
): Readonly<Record<string, unknown>> | null {
  if (value === undefined) return null;
  return Object.fromEntries(
    names.map((name) => [renamed[name] ?? upperFirst(name), value[name] ?? null]),
  );
}

function texts<T extends object>(
  value: T | undefined,
  names: FieldsOf<T>,
): Readonly<Record<string, unknown>> | null {
  if (value === undefined) return null;
  return Object.fromEntries(names.map((name) => [upperFirst(name), value[name] ?? ""]));
}

function upperFirst(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}
