// Credential providers that are asked in the name of a pod's service account.
import { compareText } from "../../lib/compare-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { qualifiedNameProblems } from "../../model/validate/names.ts";
import { isObject, shown, texts, unknownFields } from "./provider-fields.ts";
import type { PullAccount } from "./pull-record.ts";

/** What a provider wants of service accounts. */
export interface TokenAttributes {
  /** Whom the tokens are for. */
  readonly audience: string;
  /** Whether an answer holds for all pods of the service account, or for one token only. */
  readonly cacheType: "ServiceAccount" | "Token";
  /** Whether it is asked for pods with a service account only; otherwise it is asked without a token for the others. */
  readonly requiresAccount: boolean;
  /** It is asked only for service accounts that have these annotations. */
  readonly requiredAnnotations: readonly string[];
  readonly optionalAnnotations: readonly string[];
}

/** What a provider gets of the pod that it is asked for. */
export interface AccountIdentity {
  readonly account: PullAccount;
  readonly annotations: Readonly<Record<string, string>>;
  /** Bound to the pod. */
  readonly token: string;
}

/** The only version of the requests that has tokens. */
const tokenVersion = "credentialprovider.kubelet.k8s.io/v1";
const cacheTypes = ["ServiceAccount", "Token"] as const;
const fieldNames = [
  "serviceAccountTokenAudience",
  "cacheType",
  "requireServiceAccount",
  "requiredServiceAccountAnnotationKeys",
  "optionalServiceAccountAnnotationKeys",
];

/** Reads the tokenAttributes of a provider; adds what is wrong to the errors. */
export function parseTokenAttributes(
  value: unknown,
  { path, apiVersion }: { readonly path: string; readonly apiVersion: unknown },
  errors: string[],
): TokenAttributes {
  const fields = isObject(value) ? value : {};
  if (!isObject(value)) errors.push(`${path}: must be an object`);
  errors.push(...unknownFields(fields, fieldNames, `${path}.`));
  if (apiVersion !== tokenVersion) {
    errors.push(`${path}: only a provider with apiVersion ${tokenVersion} gets tokens`);
  }
  const { serviceAccountTokenAudience: audience, requireServiceAccount: requires } = fields;
  if (typeof audience !== "string" || audience === "") {
    errors.push(`${path}.serviceAccountTokenAudience: name whom the tokens are for`);
  }
  const cacheType = cacheTypes.find((each) => each === fields["cacheType"]);
  if (cacheType === undefined) {
    errors.push(
      `${path}.cacheType: ${shown(fields["cacheType"])} is not one of ${cacheTypes.join(", ")}`,
    );
  }
  if (typeof requires !== "boolean") {
    errors.push(`${path}.requireServiceAccount: must be true or false`);
  }
  const keys = (name: string): readonly string[] =>
    annotationKeys(fields[name], `${path}.${name}`, errors);
  const requiredAnnotations = keys("requiredServiceAccountAnnotationKeys");
  const optionalAnnotations = keys("optionalServiceAccountAnnotationKeys");
  if (requires === false && requiredAnnotations.length > 0) {
    errors.push(
      `${path}.requiredServiceAccountAnnotationKeys: requireServiceAccount must be true with it`,
    );
  }
  const both = requiredAnnotations.filter((key) => optionalAnnotations.includes(key));
  if (both.length > 0) {
    errors.push(`${path}: annotations cannot be both required and optional: ${both.join(", ")}`);
  }
  return {
    audience: String(audience),
    cacheType: cacheType ?? "Token",
    requiresAccount: requires === true,
    requiredAnnotations,
    optionalAnnotations,
  };
}

function annotationKeys(value: unknown, path: string, errors: string[]): readonly string[] {
  const keys = texts(value, path, errors);
  const seen = new Set<string>();
  for (const key of keys) {
    for (const problem of qualifiedNameProblems(key.toLowerCase())) {
      errors.push(`${path}: ${quoteText(key)}: ${problem}`);
    }
    if (seen.has(key)) errors.push(`${path}: ${quoteText(key)} is there already`);
    seen.add(key);
  }
  return keys;
}

/** Those of a service account's annotations that the provider gets. An error names the one that it lacks. */
export function pickAnnotations(
  { requiredAnnotations, optionalAnnotations }: TokenAttributes,
  annotations: Readonly<Record<string, string>> = {},
): Result<Readonly<Record<string, string>>, string> {
  const picked: Record<string, string> = {};
  const missing = requiredAnnotations.find((key) => !Object.hasOwn(annotations, key));
  if (missing !== undefined) return err(missing);
  for (const key of [...requiredAnnotations, ...optionalAnnotations]) {
    const value = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
    if (value !== undefined) picked[key] = value;
  }
  return ok(picked);
}

/** For whom an answer holds: pods of the same service account as the provider saw it, or users of the same token. */
export function answerOwner(
  { account, annotations, token }: AccountIdentity,
  cacheType: TokenAttributes["cacheType"],
  sha256: (text: string) => string,
): string {
  const { namespace, name, uid } = account;
  const ofToken = cacheType === "Token" ? [sha256(token)] : [];
  return JSON.stringify([namespace, name, uid, sorted(annotations), ...ofToken]);
}

/** Who may share one run of the provider: what it is asked is the same. */
export function requestOwner(
  { annotations, token }: AccountIdentity,
  sha256: (text: string) => string,
): string {
  return JSON.stringify([sha256(token), sorted(annotations)]);
}

function sorted(annotations: Readonly<Record<string, string>>): readonly (readonly string[])[] {
  return Object.entries(annotations).toSorted(([a], [b]) => compareText(a, b));
}
