// Forms that the API demands of names. Each function lists what is wrong with a name, in the API's words.

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const keyName = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelPattern = new RegExp(`^${label}$`);
const subdomainPattern = new RegExp(`^${subdomain}$`);
const keyNamePattern = new RegExp(`^${keyName}$`);

const labelMaxLength = 63;
export const subdomainMaxLength = 253;

export function dnsLabelProblems(value: string): string[] {
  const problems = tooLong(value, labelMaxLength, "characters");
  if (labelPattern.test(value)) return problems;
  if (subdomainPattern.test(value)) return [...problems, "must not contain dots"];
  const rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...problems, mismatch(rule, label, ["my-name", "123-abc"])];
}

export function dnsSubdomainProblems(value: string): string[] {
  return subdomainProblems(value, "characters");
}

/** Problems of a label key: a name, with a DNS subdomain and "/" before it where there is one. */
export function labelKeyProblems(value: string): string[] {
  const parts = value.split("/");
  const rule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  const keyMismatch = mismatch(rule, keyName, ["MyName", "my.name", "123-abc"]);
  if (parts.length > 2) {
    return [
      `a valid label key ${keyMismatch} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts.at(-1) ?? "";
  const [prefix] = parts.length === 2 ? parts : [];
  const prefixProblems =
    prefix === undefined
      ? []
      : prefix === ""
        ? ["must be non-empty"]
        : subdomainProblems(prefix, "bytes");
  const nameProblems = name === "" ? ["must be non-empty"] : tooLong(name, labelMaxLength, "bytes");
  return [
    ...prefixProblems.map((problem) => `prefix part ${problem}`),
    ...nameProblems.map((problem) => `name part ${problem}`),
    ...(keyNamePattern.test(name) ? [] : [`name part ${keyMismatch}`]),
  ];
}

function subdomainProblems(value: string, unit: "characters" | "bytes"): string[] {
  const problems = tooLong(value, subdomainMaxLength, unit);
  if (subdomainPattern.test(value)) return problems;
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...problems, mismatch(rule, subdomain, ["example.com"])];
}

function tooLong(value: string, max: number, unit: "characters" | "bytes"): string[] {
  return value.length > max ? [`must be no more than ${max} ${unit}`] : [];
}

function mismatch(rule: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${rule} (e.g. ${shown}regex used for validation is '${pattern}')`;
}
