// What Go's net/url says about a text that is not a URL.
import { quoteText } from "./go-text.ts";
import { err, ok, type Result } from "./result.ts";

/** The scheme of a URL, or the message that refuses it. */
export function parseUrlScheme(text: string): Result<string, string> {
  const problem = urlProblem(text);
  if (problem !== undefined) return err(`parse ${quoteText(text)}: ${problem}`);
  return ok((/^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(text)?.[1] ?? "").toLowerCase());
}

function urlProblem(text: string): string | undefined {
  const hash = text.indexOf("#");
  const whole = hash < 0 ? text : text.slice(0, hash);
  const fragment = hash < 0 ? "" : text.slice(hash + 1);
  if (Array.from(whole).some((character) => character < " " || character === "\u007f")) {
    return "net/url: invalid control character in URL";
  }
  if (whole.startsWith(":")) return "missing protocol scheme";
  const scheme = /^[A-Za-z][A-Za-z0-9+\-.]*:/.exec(whole)?.[0] ?? "";
  const hierarchy = whole.slice(scheme.length).replace(/\?.*$/s, "");
  if (!hierarchy.startsWith("/")) {
    if (scheme !== "") return escapeProblem(fragment);
    if (/^[^/]*:/.test(hierarchy)) return "first path segment in URL cannot contain colon";
  }
  const hasAuthority =
    hierarchy.startsWith("//") && (scheme !== "" || !hierarchy.startsWith("///"));
  const [, authority = "", path = ""] = hasAuthority
    ? (/^\/\/([^/]*)(.*)$/s.exec(hierarchy) ?? [])
    : ["", "", hierarchy];
  return authorityProblem(authority) ?? escapeProblem(path) ?? escapeProblem(fragment);
}

function authorityProblem(authority: string): string | undefined {
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  const problem = hostProblem(host);
  if (problem !== undefined || at < 0) return problem;
  const userInfo = authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(userInfo)) return "net/url: invalid userinfo";
  return escapeProblem(userInfo);
}

function hostProblem(host: string): string | undefined {
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    if (end < 0) return "missing ']' in host";
    return portProblem(host.slice(end + 1)) ?? hostTextProblem(host.slice(0, end + 1));
  }
  const colon = host.lastIndexOf(":");
  const port = colon < 0 ? undefined : portProblem(host.slice(colon));
  return port ?? hostTextProblem(host);
}

function portProblem(port: string): string | undefined {
  return /^(?::\d*)?$/.test(port) ? undefined : `invalid port ${quoteText(port)} after host`;
}

/** In a host only bytes beyond ASCII may be escaped. */
function hostTextProblem(host: string): string | undefined {
  const broken = escapeProblem(host);
  if (broken !== undefined) return broken;
  for (const [escape] of host.matchAll(/%[0-9A-Fa-f]{2}/g)) {
    if (/^%[0-7]/.test(escape) && escape !== "%25") return escapeText(escape);
  }
  const wrong = /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/u.exec(host)?.[0];
  return wrong === undefined ? undefined : `invalid character ${quoteText(wrong)} in host name`;
}

function escapeProblem(text: string): string | undefined {
  const broken = /%(?![0-9A-Fa-f]{2})/.exec(text);
  return broken === null ? undefined : escapeText(text.slice(broken.index, broken.index + 3));
}

function escapeText(escape: string): string {
  return `invalid URL escape ${quoteText(escape)}`;
}
