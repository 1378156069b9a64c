import { quoteText } from "../../lib/go-text.ts";
import { parsePlainReference } from "../../model/image-name.ts";
import { isFeatureEnabled } from "../feature-gates.ts";
import { type Check, when } from "./checked-config.ts";

const policies = [
  "NeverVerify",
  "NeverVerifyPreloadedImages",
  "NeverVerifyAllowlistedImages",
  "AlwaysVerify",
];

/** Whose credentials images of private registries need. */
export const checkImageVerification: Check = ({ config, gates }) => {
  const policy = config.imagePullCredentialsVerificationPolicy;
  const allowed = config.preloadedImagesVerificationAllowlist ?? [];
  if (!isFeatureEnabled(gates, "KubeletEnsureSecretPulledImages")) {
    const end = "must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled";
    return [
      ...when(policy !== "", `\`imagePullCredentialsVerificationPolicy\` ${end}`),
      ...when(allowed.length > 0, `\`preloadedImagesVerificationAllowlist\` ${end}`),
    ];
  }
  const [first, second, third, last] = policies.map(quoteText);
  const isMisplaced = allowed.length > 0 && policy !== "NeverVerifyAllowlistedImages";
  const problem = isMisplaced ? undefined : firstDefined(allowed.map(patternProblem));
  return [
    ...when(
      !policies.includes(policy),
      `option ${quoteText(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are ${first}, ${second}, ${third} or ${last}`,
    ),
    ...when(
      isMisplaced,
      'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    ),
    ...when(
      problem !== undefined,
      `invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${problem}`,
    ),
  ];
};

/** Why a text is neither an image without tag and digest nor a pattern that ends with "/*". */
function patternProblem(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const isWildcard = pattern.endsWith("/*");
  const name = isWildcard ? pattern.slice(0, -1) : pattern;
  if (name === "") return `the supplied pattern is too short: ${pattern}`;
  if (name.includes("*")) {
    return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  }
  if (isWildcard) {
    return name.length === 1 ? "at least registry hostname is required" : undefined;
  }
  const parsed = parsePlainReference(name);
  if (!parsed.ok) return `failed to parse as an image name: ${parsed.error}`;
  const { tag, digest } = parsed.value;
  if (tag === "" && digest === "") return undefined;
  return `neither tag nor digest is accepted in an image reference: ${pattern}`;
}

function firstDefined(values: readonly (string | undefined)[]): string | undefined {
  return values.find((value) => value !== undefined);
}
