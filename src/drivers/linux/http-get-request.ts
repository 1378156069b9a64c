import { quoteText } from "../../lib/go-text.ts";
import { escapeUrlPart, parseUrlReference, type UrlReference } from "../../lib/go-url.ts";
import { parseIpAddress } from "../../lib/ip-address.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { HTTPGetAction, HTTPHeader } from "../../model/generated/kubernetes.ts";
import type { AnyContainer } from "../../model/pod.ts";
import { resolveContainerPort } from "./container-port.ts";

/** The request of an httpGet action of a probe or hook. */
export interface HttpGetRequest {
  readonly scheme: string;
  readonly hostname: string;
  readonly port: number;
  readonly url: string;
  /** Host and port as they stand in the URL. */
  readonly urlHost: string;
  /** Path and query as they are sent. */
  readonly requestUri: string;
  /** Instead of the URL's host; "" = that one. */
  readonly hostHeader: string;
  readonly headers: ReadonlyMap<string, readonly string[]>;
}

export interface HttpGetTarget {
  readonly container: AnyContainer;
  /** Where the action names no host. */
  readonly podIp: string;
  /** Who asks, as in the User-Agent header. */
  readonly userAgent: string;
}

/** Builds the request exactly as a kubelet does, odd paths included. */
export function httpGetRequest(
  action: HTTPGetAction,
  { container, podIp, userAgent }: HttpGetTarget,
): Result<HttpGetRequest, string> {
  const scheme = (action.scheme || "http").toLowerCase();
  const hostname = action.host || podIp;
  const port = resolveContainerPort(action.port, container);
  if (!port.ok) return port;
  const urlHost = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port.value}`;
  const reference = parseUrlReference(action.path ?? "") ?? asPath(action.path ?? "");
  const url = urlText(scheme, urlHost, reference);
  if (reference.opaque !== "") return err(`Get ${quoteText(url)}: http: no Host in request URL`);
  const problem = hostProblem(hostname);
  if (problem !== undefined) {
    return err(`parse ${quoteText(url.split("#", 1)[0] ?? "")}: ${problem}`);
  }
  const headers = requestHeaders(action.httpHeaders ?? [], userAgent);
  return ok({
    scheme,
    hostname,
    port: port.value,
    url,
    urlHost,
    requestUri: `${rooted(reference.path) || "/"}${queryText(reference)}`,
    hostHeader: headers.get("Host")?.[0] ?? "",
    headers,
  });
}

/** A path that Go refuses is sent as it is, escaped. */
function asPath(path: string): UrlReference {
  const escaped = escapeUrlPart(path, "path");
  return { opaque: "", userInfo: undefined, path: escaped, query: undefined, fragment: "" };
}

function urlText(scheme: string, host: string, reference: UrlReference): string {
  const { opaque, userInfo, path, fragment } = reference;
  const user = userInfo === undefined ? "" : `${userInfo}@`;
  const place = opaque === "" ? `//${user}${escapeUrlPart(host, "host")}${rooted(path)}` : opaque;
  return `${scheme}:${place}${queryText(reference)}${fragment === "" ? "" : `#${fragment}`}`;
}

function rooted(path: string): string {
  return path === "" || path.startsWith("/") ? path : `/${path}`;
}

function queryText({ query }: UrlReference): string {
  return query === undefined ? "" : `?${query}`;
}

function hostProblem(hostname: string): string | undefined {
  if (hostname.includes("[")) return "invalid IP-literal";
  if (hostname.includes(":") && parseIpAddress(hostname) === undefined) {
    return `invalid host: ParseAddr(${quoteText(hostname)}): unable to parse IP`;
  }
  const escape = /%[0-7][0-9A-F]/.exec(escapeUrlPart(hostname, "host"))?.[0];
  return escape === undefined ? undefined : `invalid URL escape ${quoteText(escape)}`;
}

function requestHeaders(
  wanted: readonly HTTPHeader[],
  userAgent: string,
): Map<string, readonly string[]> {
  const headers = new Map<string, readonly string[]>();
  for (const { name, value } of wanted) {
    const key = canonicalHeaderName(name);
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  if (!headers.has("User-Agent")) headers.set("User-Agent", [userAgent]);
  const accept = headers.get("Accept");
  if (accept === undefined) headers.set("Accept", ["*/*"]);
  else if (accept[0] === "") headers.delete("Accept");
  return headers;
}

/** The first letter and those after a hyphen are upper case; a name that is not a token stays as it is. */
function canonicalHeaderName(name: string): string {
  if (!/^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/.test(name)) return name;
  return name.toLowerCase().replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
