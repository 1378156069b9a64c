// Which registries and repositories a credential is for: "registry.io", "*.registry.io:8080/path".
import { matchesGlob } from "../../lib/glob.ts";

interface Place {
  readonly hostParts: readonly string[];
  readonly port: string;
  readonly path: string;
}

/** Whether the pattern fits the image: each part of the host may be a glob, and the path is a prefix. */
export function matchesRegistry(pattern: string, image: string): boolean {
  const wanted = parsePlace(pattern);
  const given = parsePlace(image);
  if (wanted === undefined || given === undefined) return false;
  if (wanted.port !== given.port || wanted.hostParts.length !== given.hostParts.length) {
    return false;
  }
  if (!given.path.startsWith(wanted.path)) return false;
  return wanted.hostParts.every((part, index) => matchesGlob(part, given.hostParts[index] ?? ""));
}

/** Whether the text can be a pattern at all. */
export function isRegistryPattern(text: string): boolean {
  return parsePlace(text) !== undefined;
}

/** Host with port and path of an address without a scheme; undefined when it is not an address. */
export function splitAddress(
  text: string,
): { readonly host: string; readonly path: string } | undefined {
  const [address = ""] = text.split(/[?#]/, 1);
  if (/[\p{Cc}]/u.test(address)) return undefined;
  const slash = address.indexOf("/");
  const authority = slash < 0 ? address : address.slice(0, slash);
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const path = decodedPath(slash < 0 ? "" : address.slice(slash));
  if (path === undefined || !isHost(host)) return undefined;
  return { host, path };
}

function isHost(host: string): boolean {
  // As Go's URL parser has it; globs are made of what it lets through.
  if (!/^[\w\-.~!$&'()*+,;=:[\]<>"\u0080-\u{10ffff}]*$/u.test(host)) return false;
  const afterBracket = host.startsWith("[") ? host.slice(host.lastIndexOf("]") + 1) : undefined;
  if (afterBracket !== undefined) return host.includes("]") && /^(?::\d*)?$/.test(afterBracket);
  const colon = host.lastIndexOf(":");
  return colon < 0 || /^\d*$/.test(host.slice(colon + 1));
}

function decodedPath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

function parsePlace(text: string): Place | undefined {
  const address = splitAddress(text);
  if (address === undefined) return undefined;
  const { host, path } = address;
  const [, bracketed, plain, port = ""] = /^(?:\[([^\]]*)\]|([^:]*)):(\d*)$/.exec(host) ?? [];
  return { hostParts: (bracketed ?? plain ?? host).split("."), port, path };
}
