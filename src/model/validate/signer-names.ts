import { quoteText } from "../../lib/go-text.ts";
import { utf8Length } from "../../lib/utf8.ts";
import { type FieldError, type FieldPath, invalid, required, tooLong } from "./field-error.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "./names.ts";

const maxDomainBytes = 253;
const maxSignerBytes = 571;

export function isKubernetesSigner(signer: string): boolean {
  const [domain = ""] = signer.split("/");
  return domain === "kubernetes.io" || domain.endsWith(".kubernetes.io");
}

/** Checks the name of a signer: a domain, a slash and a path of names. */
export function validateSignerName(signer: string, field: FieldPath): FieldError[] {
  if (signer === "") return [required(field)];
  const [domain = "", path, ...more] = signer.split("/");
  if (path === undefined || more.length > 0) {
    const detail =
      "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalid(field, signer, detail)];
  }
  const labels = domain.split(".");
  return [
    ...(utf8Length(domain) > maxDomainBytes ? [tooLong(field, maxDomainBytes)] : []),
    ...firstProblems(labels, dnsLabelProblems).map((text) => invalid(field, domain, text)),
    ...(labels.length < 2
      ? [invalid(field, domain, "should be a domain with at least two segments separated by dots")]
      : []),
    ...firstProblems(path.split("."), dnsSubdomainProblems).map((text) =>
      invalid(field, path, text),
    ),
    ...(utf8Length(signer) > maxSignerBytes ? [tooLong(field, maxSignerBytes)] : []),
  ];
}

/** What is wrong with the first wrong label; those after it would only repeat it. */
function firstProblems(
  labels: readonly string[],
  problemsOf: (label: string) => string[],
): string[] {
  for (const label of labels) {
    const problems = problemsOf(label);
    if (problems.length > 0) {
      return problems.map((problem) => `validating label ${quoteText(label)}: ${problem}`);
    }
  }
  return [];
}
