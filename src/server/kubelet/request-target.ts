// The target of a request as Go's server reads it. Texts are byte strings: one character for each byte that was sent.
import { parseIpAddress } from "../../lib/ip-address.ts";
import { cleanPath } from "../../lib/path.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";

export interface RequestTarget {
  /** With its escapes resolved. */
  readonly path: string;
  /** As it is matched against patterns: escaped as it came, or escaped again where that was done badly. */
  readonly escapedPath: string;
  /** Without the question mark. */
  readonly rawQuery: string;
}

/** Undefined when such a request is answered with 400. */
export function parseRequestTarget(method: string, target: string): RequestTarget | undefined {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method)) return undefined;
  const isAuthority = method === "CONNECT" && !target.startsWith("/");
  const text = isAuthority ? `http://${target}` : target;
  if (text === "" || Array.from(text).some(isForbidden)) return undefined;
  if (text === "*") return { path: "*", escapedPath: "*", rawQuery: "" };
  if (text.startsWith(":")) return undefined;
  const scheme = /^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(text)?.[1] ?? "";
  const rest = scheme === "" ? text : text.slice(scheme.length + 1);
  const queryStart = rest.indexOf("?");
  const hierarchy = queryStart < 0 ? rest : rest.slice(0, queryStart);
  const rawQuery = queryStart < 0 ? "" : rest.slice(queryStart + 1);
  if (!hierarchy.startsWith("/")) {
    return scheme === "" ? undefined : { path: "", escapedPath: "", rawQuery };
  }
  const hasAuthority = scheme !== "" && hierarchy.startsWith("//");
  const [, authority = "", rawPath = ""] = hasAuthority
    ? (/^\/\/([^/]*)(.*)$/s.exec(hierarchy) ?? [])
    : ["", "", hierarchy];
  if (hasAuthority && !isAuthorityValid(authority, scheme.toLowerCase())) return undefined;
  const path = unescapeBytes(rawPath);
  if (path === undefined) return undefined;
  return { path, escapedPath: normalPath(rawPath, path), rawQuery };
}

/** A space ends the target; control characters stand nowhere in a request line. */
function isForbidden(byte: string): boolean {
  return byte <= " " || byte === "\u007f";
}

/** A path without detours; a slash at its end stays. */
export function cleanRequestPath(path: string): string {
  const rooted = path.startsWith("/") ? path : `/${path}`;
  const clean = cleanPath(rooted);
  return rooted.endsWith("/") && clean !== "/" ? `${clean}/` : clean;
}

/** The parameters of a query by name. What is escaped badly or separated by a semicolon is left out, as Go does. */
export function parseQuery(rawQuery: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const pair of rawQuery.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const equals = pair.indexOf("=");
    const name = queryText(equals < 0 ? pair : pair.slice(0, equals));
    const value = queryText(equals < 0 ? "" : pair.slice(equals + 1));
    if (name === undefined || value === undefined) continue;
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return values;
}

/** Bytes as the text that they are in UTF-8. */
export function textOfBytes(bytes: string): string {
  return decodeUtf8(Buffer.from(bytes, "latin1"));
}

/** Escapes every byte that must not stand in a path as it is. */
export function escapePath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~$&+,/:;=@]/g, (byte) => hexEscape(byte));
}

export function hexEscape(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

export function unescapeBytes(text: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  return text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A path that came escaped well stays as it is. */
function normalPath(raw: string, path: string): string {
  const isFine = /^[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]%]*$/.test(raw);
  return isFine ? raw : escapePath(path);
}

function queryText(text: string): string | undefined {
  const bytes = unescapeBytes(text.replaceAll("+", " "));
  return bytes === undefined ? undefined : textOfBytes(bytes);
}

function isAuthorityValid(authority: string, scheme: string): boolean {
  const at = authority.lastIndexOf("@");
  if (!isHostValid(authority.slice(at + 1), scheme)) return false;
  const userInfo = authority.slice(0, Math.max(at, 0));
  return (
    /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(userInfo) && unescapeBytes(userInfo) !== undefined
  );
}

function isHostValid(host: string, scheme: string): boolean {
  const bracket = host.lastIndexOf("[");
  if (bracket > 0) return false;
  if (bracket === 0) {
    const end = host.lastIndexOf("]");
    return end > 0 && isPort(host.slice(end + 1)) && isIpv6Literal(host.slice(1, end));
  }
  // Only other schemes may have several hosts, each with a port.
  const isWeb = scheme === "http" || scheme === "https";
  const colon = isWeb ? host.indexOf(":") : host.lastIndexOf(":");
  return (colon < 0 || isPort(host.slice(colon))) && isHostText(host);
}

function isPort(text: string): boolean {
  return /^(?::\d*)?$/.test(text);
}

/** In a host only bytes beyond ASCII may be escaped. */
function isHostText(text: string): boolean {
  const plain = text.replace(/%(?:25|[89A-Fa-f][0-9A-Fa-f])/g, "");
  return /^[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"\u0080-\u00ff]*$/.test(plain);
}

function isIpv6Literal(text: string): boolean {
  const [, address = "", zone] = /^(.*?)(?:%25(.*))?$/s.exec(text) ?? [];
  if (zone !== undefined) {
    const bytes = unescapeBytes(zone);
    if (bytes === undefined || bytes === "" || !isHostText(bytes.replaceAll(/[ %]/g, ""))) {
      return false;
    }
  }
  return address.includes(":") && isHostText(address) && parseIpAddress(address) !== undefined;
}
