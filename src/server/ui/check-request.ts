// Where a request to the page comes from: browsers say so in headers that scripts of other pages cannot choose.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { HttpError } from "../http-error.ts";

const frames = new Set(["iframe", "frame", "embed", "object", "fencedframe"]);

/** The authorities by which this server may be addressed: another name that leads here belongs to another site (DNS rebinding). */
export function servedHosts(host: string, port: number): ReadonlySet<string> {
  // As clients write it: an IPv6 address in its shortest form and without its zone, and port 80 not at all.
  const { hostname } = new URL(
    `http://${host.includes(":") ? `[${host.replace(/%.*/, "")}]` : host}`,
  );
  const isUsual = hostname === "127.0.0.1" || hostname === "[::1]";
  const names = isUsual ? [hostname, "localhost"] : [hostname];
  return new Set(names.map((name) => new URL(`http://${name}:${port}`).host));
}

/** Throws when the server is called by a name that is not its own. Two Host headers are not let through by Node. */
export function requireHost({ headers }: IncomingMessage, hosts: ReadonlySet<string>): void {
  if (hosts.has(headers.host?.toLowerCase() ?? "")) return;
  const [name] = hosts;
  throw new HttpError("Forbidden", `the page is served as http://${name} only`);
}

/** Throws for what another page asks for, also in a frame. */
export function requireOwnPage(headers: IncomingHttpHeaders): void {
  const { origin, host = "" } = headers;
  const site = headers["sec-fetch-site"];
  const isOwnSite = site === undefined || site === "same-origin";
  if (isOwnSite && (origin === undefined || isOwnOrigin(origin, host))) return;
  throw new HttpError("Forbidden", "other pages may not ask for this");
}

/** The same for what changes something: browsers always say then which page it is. */
export function requireOrigin(headers: IncomingHttpHeaders): void {
  requireOwnPage(headers);
  if (headers.origin !== undefined) return;
  throw new HttpError("Forbidden", "the header Origin is missing");
}

/** Following a link to the page is allowed, showing it in a frame is not. */
export function requireNoFrame(headers: IncomingHttpHeaders): void {
  const destination = headers["sec-fetch-dest"];
  if (typeof destination !== "string" || !frames.has(destination)) return;
  throw new HttpError("Forbidden", "the page is not shown in frames");
}

function isOwnOrigin(origin: string, host: string): boolean {
  return origin.toLowerCase() === `http://${host.toLowerCase()}`;
}
