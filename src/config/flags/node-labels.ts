import { labelValueProblems, qualifiedNameProblems } from "../../model/validate/names.ts";

const allowedNamespaces = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const allowedLabels = [
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
];

/** Why a node may not give itself these labels. */
export function nodeLabelsProblem(labels: Readonly<Record<string, string>>): string | undefined {
  const foreign = Object.keys(labels).filter((key) => isKubernetes(key) && !isAllowed(key));
  if (foreign.length > 0) {
    const names = foreign.toSorted((a, b) => (a < b ? -1 : 1)).join(" ");
    return `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${names}]\n--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (${allowedNamespaces.join(", ")}) or be in the specifically allowed set (${allowedLabels.join(", ")})`;
  }
  const problems = new Map<string, string[]>();
  const add = (text: string, found: readonly string[]): void => {
    if (found.length > 0) problems.set(text, [...(problems.get(text) ?? []), ...found]);
  };
  for (const [key, value] of Object.entries(labels)) {
    add(key, qualifiedNameProblems(key));
    add(value, labelValueProblems(value));
  }
  if (problems.size === 0) return undefined;
  const texts = [...problems].map(([text, found]) => `'${text}' - ${found.join(", ")}`);
  return `invalid node labels: ${texts.join("; ")}`;
}

function isKubernetes(key: string): boolean {
  return isWithin(key, ["kubernetes.io", "k8s.io"]);
}

function isAllowed(key: string): boolean {
  return allowedLabels.includes(key) || isWithin(key, allowedNamespaces);
}

function isWithin(key: string, namespaces: readonly string[]): boolean {
  const slash = key.indexOf("/");
  const namespace = slash < 0 ? "" : key.slice(0, slash);
  return namespaces.some((known) => namespace === known || namespace.endsWith(`.${known}`));
}
