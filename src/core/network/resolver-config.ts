import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { subdomainMaxLength } from "../../model/name-format.ts";

export const maxNameservers = 3;
export const maxSearchPaths = 32;
export const maxSearchLineLength = 2048;
const maxFileLength = 10 * 1024 * 1024;

/** What a resolv.conf says. */
export interface ResolverConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Reads a resolv.conf: nameservers add up, the last search line counts, later options replace earlier ones. */
export function parseResolverConfig(text: string): Result<ResolverConfig, string> {
  if (text.length >= maxFileLength) return err("the read limit is reached");
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  let isServerMissing = false;
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === "nameserver") {
      const [server] = values;
      if (server === undefined) isServerMissing = true;
      else servers.push(server);
    }
    if (keyword === "search") {
      // The same domain with and without a dot at its end counts once against the limits.
      searches = values.filter((path) => path !== ".").map((path) => path.replace(/\.$/, ""));
    }
    if (keyword === "options") {
      for (const option of values) options.set(option.split(":", 1)[0] ?? "", option);
    }
  }
  if (isServerMissing) return err("nameserver list is empty ");
  return ok({ servers, searches, options: [...options.values()] });
}

/** What in the node's resolv.conf will not fit into pods; undefined when all does. */
export function resolverConfigProblem(
  path: string,
  text: string,
  clusterDomain: string,
): string | undefined {
  const parsed = parseResolverConfig(text);
  if (!parsed.ok) return parsed.error;
  const { searches } = parsed.value;
  const maxPaths = clusterDomain === "" ? maxSearchPaths : maxSearchPaths - 3;
  if (searches.length > maxPaths) {
    return `Resolv.conf file '${path}' contains search line consisting of more than ${maxPaths} domains!`;
  }
  if (searches.some((search) => search.length > subdomainMaxLength)) {
    return `Resolv.conf file ${quoteText(path)} contains a search path which length is more than allowed ${subdomainMaxLength} chars!`;
  }
  if (searches.join(" ").length > maxSearchLineLength) {
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${maxSearchLineLength} chars!`;
  }
  return undefined;
}
