// What is wrong with a name, as messages. No message means that the name is fine.
import { utf8Length } from "../../lib/utf8.ts";

const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`;
const underscoreLabelFormat = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const underscoreSubdomainFormat = `${underscoreLabelFormat}(\\.${underscoreLabelFormat})*`;
const keyFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValueFormat = `(${keyFormat})?`;
const configKeyFormat = "[-._a-zA-Z0-9]+";
const headerFormat = "[-A-Za-z0-9]+";

const labelRegExp = new RegExp(`^${labelFormat}$`);
const subdomainRegExp = new RegExp(`^${subdomainFormat}$`);
const underscoreSubdomainRegExp = new RegExp(`^${underscoreSubdomainFormat}$`);
const keyRegExp = new RegExp(`^${keyFormat}$`);
const labelValueRegExp = new RegExp(`^${labelValueFormat}$`);
const configKeyRegExp = new RegExp(`^${configKeyFormat}$`);
const headerRegExp = new RegExp(`^${headerFormat}$`);

const maxLabelLength = 63;
const maxSubdomainLength = 253;
const maxPortNameLength = 15;

const labelMessage =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const underscoreSubdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
const keyMessage =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

export function dnsLabelProblems(name: string): string[] {
  const problems = lengthProblems(name, maxLabelLength, "characters");
  if (!labelRegExp.test(name)) {
    problems.push(
      subdomainRegExp.test(name)
        ? "must not contain dots"
        : formatProblem(labelMessage, labelFormat, ["my-name", "123-abc"]),
    );
  }
  return problems;
}

export function dnsSubdomainProblems(name: string): string[] {
  return subdomainProblems(name, "characters");
}

/** As a subdomain, with underscores allowed as resolvers allow them. */
export function dnsSearchProblems(name: string): string[] {
  const problems = lengthProblems(name, maxSubdomainLength, "characters");
  if (!underscoreSubdomainRegExp.test(name)) {
    problems.push(
      formatProblem(underscoreSubdomainMessage, underscoreSubdomainFormat, ["example.com"]),
    );
  }
  return problems;
}

/** The start of a generated name may end in a dash. */
export function withoutTrailingDash(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix;
}

/** The key of a label: a name with an optional domain in front. */
export function qualifiedNameProblems(key: string): string[] {
  const parts = key.split("/");
  const format = formatProblem(keyMessage, keyFormat, ["MyName", "my.name", "123-abc"]);
  if (parts.length > 2) {
    return [
      `a valid label key ${format} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const prefix = parts.length === 2 ? (parts[0] ?? "") : undefined;
  const name = parts.at(-1) ?? "";
  const problems: string[] = [];
  if (prefix === "") {
    problems.push("prefix part must be non-empty");
  } else if (prefix !== undefined) {
    problems.push(...subdomainProblems(prefix, "bytes").map((text) => `prefix part ${text}`));
  }
  if (name === "") problems.push("name part must be non-empty");
  problems.push(
    ...lengthProblems(name, maxLabelLength, "bytes").map((text) => `name part ${text}`),
  );
  if (!keyRegExp.test(name)) problems.push(`name part ${format}`);
  return problems;
}

export function labelValueProblems(value: string): string[] {
  const problems = lengthProblems(value, maxLabelLength, "bytes");
  if (!labelValueRegExp.test(value)) {
    problems.push(
      formatProblem(
        `a valid label must be an empty string or consist of${keyMessage.slice("must consist of".length)}`,
        labelValueFormat,
        ["MyValue", "my_value", "12345"],
      ),
    );
  }
  return problems;
}

export function portNameProblems(name: string): string[] {
  const problems = lengthProblems(name, maxPortNameLength, "characters");
  if (!/^[-a-z0-9]+$/.test(name)) {
    problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(name)) problems.push("must contain at least one letter (a-z)");
  if (name.includes("--")) problems.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) {
    problems.push("must not begin or end with a hyphen");
  }
  return problems;
}

export function environmentNameProblems(name: string): string[] {
  if (name === "") return ["environment variable name must be non-empty"];
  return /^[ -<>-~]+$/.test(name)
    ? []
    : [
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
      ];
}

/** The key of a config map or secret: it can become a file name. */
export function configKeyProblems(key: string): string[] {
  const problems = lengthProblems(key, maxSubdomainLength, "characters");
  if (!configKeyRegExp.test(key)) {
    problems.push(
      formatProblem(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        configKeyFormat,
        ["key.name", "KEY_NAME", "key-name"],
      ),
    );
  }
  if (key === "." || key === "..") problems.push(`must not be '${key}'`);
  else if (key.startsWith("..")) problems.push("must not start with '..'");
  return problems;
}

export function headerNameProblems(name: string): string[] {
  if (headerRegExp.test(name)) return [];
  const message = "a valid HTTP header must consist of alphanumeric characters or '-'";
  return [formatProblem(message, headerFormat, ["X-Header-Name"])];
}

export function rangeProblems(value: number, min: number, max: number): string[] {
  return value >= min && value <= max ? [] : [`must be between ${min} and ${max}, inclusive`];
}

export function portNumberProblems(port: number): string[] {
  return rangeProblems(port, 1, 65535);
}

/** User and group ids are what a signed 32-bit number holds. */
export function idProblems(id: number): string[] {
  return rangeProblems(id, 0, 2 ** 31 - 1);
}

function subdomainProblems(name: string, unit: "characters" | "bytes"): string[] {
  const problems = lengthProblems(name, maxSubdomainLength, unit);
  if (!subdomainRegExp.test(name)) {
    problems.push(formatProblem(subdomainMessage, subdomainFormat, ["example.com"]));
  }
  return problems;
}

function lengthProblems(text: string, max: number, unit: "characters" | "bytes"): string[] {
  return utf8Length(text) > max ? [`must be no more than ${max} ${unit}`] : [];
}

function formatProblem(message: string, format: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${shown}regex used for validation is '${format}')`;
}
