// URLs as Go's net/url reads and writes them: what a kubelet sends for a given path, Berth must send, too.

/** The parts of a reference that HTTP requests use. */
export interface UrlReference {
  /** Set for "scheme:rest" without a slash, which has no path. */
  readonly opaque: string;
  readonly userInfo: string | undefined;
  /** As it is sent, escaped. */
  readonly path: string;
  /** Without the question mark; undefined = none. */
  readonly query: string | undefined;
  /** As it is shown, escaped. */
  readonly fragment: string;
}

type Part = "path" | "fragment" | "host";

const unreserved = /[A-Za-z0-9\-_.~]/;
/** What may stand unescaped in a part, beside the unreserved characters, when Go escapes it itself. */
const plain: Readonly<Record<Part, RegExp>> = {
  path: /[$&+,/:;=@]/,
  fragment: /[$&+,/:;=?@!()*]/,
  host: /[!$&'()*+,;=:[\]<>"]/,
};
/** What may stand unescaped in a part that came escaped. */
const accepted = /[!$&'()*+,;=:@[\]%]/;

/** Reads a reference; undefined when Go refuses it. */
export function parseUrlReference(text: string): UrlReference | undefined {
  const [beforeFragment, rawFragment] = cut(text, "#");
  if (hasControlCharacter(beforeFragment)) return undefined;
  const withScheme = splitScheme(beforeFragment);
  if (withScheme === undefined) return undefined;
  const { scheme, rest } = withScheme;
  const [hierarchy, query] = cut(rest, "?");
  const fragment = normalEncoding(rawFragment ?? "", "fragment");
  if (fragment === undefined) return undefined;
  if (!hierarchy.startsWith("/")) {
    if (scheme !== "") return { opaque: hierarchy, userInfo: undefined, path: "", query, fragment };
    if (cut(hierarchy, "/")[0].includes(":")) return undefined;
  }
  const hasAuthority =
    hierarchy.startsWith("//") && (scheme !== "" || !hierarchy.startsWith("///"));
  const afterSlashes = hasAuthority ? hierarchy.slice(2) : "";
  const slash = afterSlashes.indexOf("/");
  const authority = slash < 0 ? afterSlashes : afterSlashes.slice(0, slash);
  const rawPath = hasAuthority ? (slash < 0 ? "" : afterSlashes.slice(slash)) : hierarchy;
  const path = normalEncoding(rawPath, "path");
  if (path === undefined) return undefined;
  const at = authority.lastIndexOf("@");
  const userInfo = at < 0 ? undefined : authority.slice(0, at);
  return { opaque: "", userInfo, path, query, fragment };
}

/** Escapes every byte that must not stand in that part as it is. */
export function escapeUrlPart(text: string, part: Part): string {
  return Array.from(text, (character) =>
    unreserved.test(character) || plain[part].test(character) ? character : escapeBytes(character),
  ).join("");
}

/** The text with its escapes resolved; undefined when one is broken. */
function unescape(text: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  // Bytes that are not UTF-8 stay escaped as they are: they come out the same when escaped again.
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (escaped) => {
    try {
      return decodeURIComponent(escaped);
    } catch {
      return escaped;
    }
  });
}

/** A part that came escaped well stays as it is; any other is escaped again. */
function normalEncoding(raw: string, part: Part): string | undefined {
  const decoded = unescape(raw);
  if (decoded === undefined) return undefined;
  const isFine = Array.from(raw).every(
    (character) =>
      unreserved.test(character) || plain[part].test(character) || accepted.test(character),
  );
  return isFine ? raw : escapeUrlPart(decoded, part);
}

function splitScheme(text: string): { scheme: string; rest: string } | undefined {
  if (text.startsWith(":")) return undefined;
  const match = /^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(text);
  if (match?.[1] === undefined) return { scheme: "", rest: text };
  return { scheme: match[1].toLowerCase(), rest: text.slice(match[0].length) };
}

function hasControlCharacter(text: string): boolean {
  return Array.from(text).some((character) => character < " " || character === "\u007f");
}

function escapeBytes(character: string): string {
  // encodeURIComponent leaves some ASCII characters as they are.
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
  const isHalfPair = character.length === 1 && code >= 0xd800 && code <= 0xdfff;
  return encodeURIComponent(isHalfPair ? "\ufffd" : character);
}

function cut(text: string, separator: string): readonly [string, string | undefined] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}
