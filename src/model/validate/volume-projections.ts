import type {
  ClusterTrustBundleProjection,
  KeyToPath,
  PodCertificateProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from "../generated/kubernetes.ts";
import { validateDownwardFile } from "./downward-files.ts";
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  notSupported,
  required,
  tooLong,
} from "./field-error.ts";
import { shownLabelSelector, shownTrustBundle } from "./internal-json.ts";
import { maxAnnotationsBytes, sortedEntries, textsSize, validateLabelSelector } from "./labels.ts";
import { dnsSubdomainProblems, qualifiedNameProblems } from "./names.ts";
import { validateFileMode, validateVolumeFilePath } from "./paths.ts";
import { isKubernetesSigner, validateSignerName } from "./signer-names.ts";
import { validateKeyToPath } from "./volume-keys.ts";

const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;
const minCertificateSeconds = 3600;
const maxCertificateSeconds = 91 * 24 * 3600;
const maxKubernetesCertificateSeconds = 24 * 3600;
const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/** Notes each path of the volume and refuses the second use of one. */
type ClaimPath = (path: string, shown: string) => FieldError[];

/** Checks a volume that is put together from several sources. */
export function validateProjectedVolume(
  projected: ProjectedVolumeSource | undefined,
  field: FieldPath,
): FieldError[] {
  const paths = new Set<string>();
  const claimPath: ClaimPath = (path, shown) => {
    if (paths.has(path)) return [invalid(field, shown, "conflicting duplicate paths")];
    paths.add(path);
    return [];
  };
  return [
    ...validateFileMode(projected?.defaultMode, `${field}.defaultMode`),
    ...(projected?.sources ?? []).flatMap((source, index) =>
      validateProjection(source, claimPath, { field, at: `${field}.sources[${index}]` }),
    ),
  ];
}

function validateProjection(
  source: VolumeProjection,
  claimPath: ClaimPath,
  { field, at }: { readonly field: FieldPath; readonly at: FieldPath },
): FieldError[] {
  const {
    secret,
    configMap,
    downwardAPI,
    serviceAccountToken,
    clusterTrustBundle,
    podCertificate,
  } = source;
  const errors = [
    ...(secret === undefined ? [] : validateKeyed(secret, claimPath, `${at}.secret`)),
    ...(configMap === undefined ? [] : validateKeyed(configMap, claimPath, `${at}.configMap`)),
    ...(downwardAPI?.items ?? []).flatMap((file) => [
      ...validateDownwardFile(file, `${at}.downwardAPI`),
      ...(file.path === "" ? [] : claimPath(file.path, file.path)),
    ]),
    ...(serviceAccountToken === undefined
      ? []
      : validateToken(serviceAccountToken, `${at}.serviceAccountToken`, field)),
    ...(clusterTrustBundle === undefined
      ? []
      : validateTrustBundle(clusterTrustBundle, claimPath, `${at}.clusterTrustBundle`)),
    ...(podCertificate === undefined
      ? []
      : validateCertificate(podCertificate, claimPath, `${at}.podCertificate`)),
  ];
  const count = Object.values(source).filter((one) => one !== undefined).length;
  if (count > 1) errors.push(forbidden(at, "may not specify more than 1 volume type per source"));
  return errors;
}

function validateKeyed(
  { name = "", items }: { name?: string | undefined; items?: readonly KeyToPath[] | undefined },
  claimPath: ClaimPath,
  field: FieldPath,
): FieldError[] {
  return [
    ...(name === "" ? [required(`${field}.name`)] : []),
    ...(items ?? []).flatMap((item, index) => [
      ...validateKeyToPath(item, `${field}.items[${index}]`),
      ...(item.path === "" ? [] : claimPath(item.path, name)),
    ]),
  ];
}

function validateToken(
  { expirationSeconds = 0, path }: ServiceAccountTokenProjection,
  field: FieldPath,
  volume: FieldPath,
): FieldError[] {
  const at = `${field}.expirationSeconds`;
  const errors: FieldError[] = [];
  if (expirationSeconds < minTokenSeconds) {
    const detail = "may not specify a duration less than 10 minutes";
    errors.push(invalid(at, expirationSeconds, detail));
  }
  if (expirationSeconds > maxTokenSeconds) {
    const detail = "may not specify a duration larger than 2^32 seconds";
    errors.push(invalid(at, expirationSeconds, detail));
  }
  if (path === "") return [...errors, required(`${volume}.path`)];
  return [...errors, ...validateVolumeFilePath(path, `${volume}.path`)];
}

function validateTrustBundle(
  bundle: ClusterTrustBundleProjection,
  claimPath: ClaimPath,
  field: FieldPath,
): FieldError[] {
  return [
    ...validateBundleChoice(bundle, field),
    ...(bundle.path === "" ? [required(`${field}.path`)] : []),
    ...validateVolumeFilePath(bundle.path, `${field}.path`),
    ...claimPath(bundle.path, bundle.path),
  ];
}

function validateBundleChoice(
  bundle: ClusterTrustBundleProjection,
  field: FieldPath,
): FieldError[] {
  const { name, signerName, labelSelector } = bundle;
  if (name !== undefined && signerName !== undefined) {
    const detail = "only one of name and signerName may be used";
    return [invalid(field, shownTrustBundle(bundle), detail)];
  }
  if (name !== undefined) {
    const problems = bundleNameProblems(name).map(
      (problem) => `not a valid clustertrustbundlename: ${problem}`,
    );
    return [
      ...(name === "" ? [required(`${field}.name`, "must be a valid object name")] : []),
      ...invalidForEach(`${field}.name`, name, problems),
      ...(labelSelector === undefined
        ? []
        : [
            invalid(
              `${field}.labelSelector`,
              shownLabelSelector(labelSelector),
              "labelSelector must be unset if name is specified",
            ),
          ]),
    ];
  }
  if (signerName === undefined) {
    return [required(field, "either name or signerName must be specified")];
  }
  return [
    ...(signerName === "" ? [required(`${field}.signerName`, "must be a valid signer name")] : []),
    ...validateSignerName(signerName, `${field}.signerName`),
    ...validateLabelSelector(labelSelector, `${field}.labelSelector`),
  ];
}

/** The bundle of a signer has the signer's name in front, with colons. */
function bundleNameProblems(name: string): string[] {
  const end = name.lastIndexOf(":");
  const signer = name.slice(0, Math.max(end, 0)).replaceAll(":", "/");
  const prefix = `${signer.replaceAll("/", ":")}:`;
  if (signer !== "" && !name.startsWith(prefix)) {
    return [`ClusterTrustBundle for signerName ${signer} must be named with prefix ${prefix}`];
  }
  if (signer === "" && end !== -1) {
    return ['ClusterTrustBundle without signer name must not have ":" in its name'];
  }
  return dnsSubdomainProblems(name.slice(end + 1));
}

function validateCertificate(
  certificate: PodCertificateProjection,
  claimPath: ClaimPath,
  field: FieldPath,
): FieldError[] {
  const { signerName, keyType, maxExpirationSeconds: seconds, userAnnotations } = certificate;
  const pathNames = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
  const used = pathNames.filter((name) => (certificate[name] ?? "") !== "");
  return [
    ...validateSignerName(signerName, `${field}.signerName`),
    ...validateUserAnnotations(userAnnotations, `${field}.userAnnotations`),
    ...(keyTypes.includes(keyType) ? [] : [notSupported(`${field}.keyType`, keyType, keyTypes)]),
    ...(seconds === undefined
      ? []
      : validateCertificateSeconds(seconds, signerName, `${field}.maxExpirationSeconds`)),
    ...used.flatMap((name) => {
      const path = certificate[name] ?? "";
      return [...validateVolumeFilePath(path, `${field}.${name}`), ...claimPath(path, path)];
    }),
    ...(used.length > 0
      ? []
      : [
          required(
            field,
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
          ),
        ]),
  ];
}

function validateCertificateSeconds(
  seconds: number,
  signerName: string,
  field: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  if (seconds < minCertificateSeconds) {
    const detail = `if provided, maxExpirationSeconds must be >= ${minCertificateSeconds}`;
    errors.push(invalid(field, seconds, detail));
  }
  const max = isKubernetesSigner(signerName)
    ? maxKubernetesCertificateSeconds
    : maxCertificateSeconds;
  if (seconds > max) {
    errors.push(invalid(field, seconds, `if provided, maxExpirationSeconds must be <= ${max}`));
  }
  return errors;
}

function validateUserAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  field: FieldPath,
): FieldError[] {
  const errors = sortedEntries(annotations).flatMap(([original]) => {
    const name = original.toLowerCase();
    if (name === "") return [required(field)];
    const wrong = invalidForEach(field, name, qualifiedNameProblems(name));
    if (wrong.length > 0 || name.includes("/")) return wrong;
    return [invalid(field, name, 'must be a domain-prefixed key (such as "acme.io/foo")')];
  });
  if (textsSize(annotations) > maxAnnotationsBytes)
    errors.push(tooLong(field, maxAnnotationsBytes));
  return errors;
}
