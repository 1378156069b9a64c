import { utf8Length } from "../../lib/utf8.ts";
import type { HostAlias, PodDNSConfig, PodSpec } from "../generated/kubernetes.ts";
import { validateIp } from "./addresses.ts";
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  required,
  tooLong,
} from "./field-error.ts";
import { dnsSearchProblems, dnsSubdomainProblems } from "./names.ts";

const maxNameservers = 3;
const maxSearchPaths = 32;
const maxSearchListBytes = 2048;
const maxHostnameBytes = 64;

export function validateDnsConfig(spec: PodSpec, field: FieldPath): FieldError[] {
  const { dnsConfig: config, dnsPolicy: policy } = spec;
  if (policy === "None") {
    if (config === undefined) {
      return [required(field, "must provide `dnsConfig` when `dnsPolicy` is None")];
    }
    if ((config.nameservers ?? []).length === 0) {
      const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
      return [required(`${field}.nameservers`, detail)];
    }
  }
  if (config === undefined) return [];
  return [
    ...validateNameservers(config.nameservers ?? [], `${field}.nameservers`),
    ...validateSearches(config.searches ?? [], `${field}.searches`),
    ...validateOptions(config, `${field}.options`),
  ];
}

function validateNameservers(servers: readonly string[], field: FieldPath): FieldError[] {
  const detail = `must not have more than ${maxNameservers} nameservers`;
  return [
    ...(servers.length > maxNameservers ? [invalid(field, { json: servers }, detail)] : []),
    ...servers.flatMap((server, index) => validateIp(server, `${field}[${index}]`)),
  ];
}

function validateSearches(searches: readonly string[], field: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (searches.length > maxSearchPaths) {
    const detail = `must not have more than ${maxSearchPaths} search paths`;
    errors.push(invalid(field, { json: searches }, detail));
  }
  if (utf8Length(searches.join(" ")) > maxSearchListBytes) {
    const detail = `must not have more than ${maxSearchListBytes} characters (including spaces) in the search list`;
    errors.push(invalid(field, { json: searches }, detail));
  }
  return [
    ...errors,
    ...searches.flatMap((search, index) => {
      if (search === ".") return [];
      const name = search.replace(/\.$/, "");
      return invalidForEach(`${field}[${index}]`, name, dnsSearchProblems(name));
    }),
  ];
}

function validateOptions({ options }: PodDNSConfig, field: FieldPath): FieldError[] {
  return (options ?? []).flatMap(({ name }, index) =>
    (name ?? "") === "" ? [required(`${field}[${index}]`, "must not be empty")] : [],
  );
}

export function validateHostAliases(
  aliases: readonly HostAlias[] | undefined,
  field: FieldPath,
): FieldError[] {
  return (aliases ?? []).flatMap(({ ip, hostnames }, index) => [
    ...validateIp(ip, `${field}[${index}].ip`),
    ...(hostnames ?? []).flatMap((name, nameIndex) =>
      invalidForEach(
        `${field}[${index}].hostnames[${nameIndex}]`,
        name,
        dnsSubdomainProblems(name),
      ),
    ),
  ]);
}

/** A host name that replaces the pod's own excludes the other ways to choose one. */
export function validateHostnameOverride(spec: PodSpec, field: FieldPath): FieldError[] {
  const name = spec.hostnameOverride;
  if (name === undefined) return [];
  const at = `${field}.hostnameOverride`;
  return [
    ...(spec.setHostnameAsFQDN === true
      ? [forbidden(at, "may not be specified when setHostnameAsFQDN is true")]
      : []),
    ...(spec.hostNetwork === true
      ? [forbidden(at, "may not be specified when hostNetwork is true")]
      : []),
    ...(utf8Length(name) > maxHostnameBytes ? [tooLong(at, maxHostnameBytes)] : []),
    ...invalidForEach(at, name, dnsSubdomainProblems(name)),
  ];
}
