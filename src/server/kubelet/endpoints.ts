// The paths of the kubelet's API, and which of them answers a request.
import { type MuxMatch, matchPattern } from "./path-mux.ts";
import { parseRequestTarget, type RequestTarget, textOfBytes } from "./request-target.ts";

export type Endpoint =
  | "attach"
  | "cadvisor-metrics"
  | "checkpoint"
  | "configz"
  | "container-logs"
  | "debug-flags"
  | "debugging-disabled"
  | "exec"
  | "flagz"
  | "health"
  | "health-check"
  | "metrics"
  | "pods"
  | "port-forward"
  | "probe-metrics"
  | "profiling"
  | "profiling-disabled"
  | "flags-disabled"
  | "resource-metrics"
  | "run"
  | "running-pods"
  | "sli-metrics"
  | "statusz"
  | "stats-summary"
  | "system-log-queries"
  | "system-logs"
  | "system-logs-disabled";

/** Which endpoints a server has. */
export interface EndpointSettings {
  readonly healthChecks: readonly string[];
  /** enableDebuggingHandlers; a server without it has none of those below either. */
  readonly debugging: boolean;
  readonly systemLogs: "off" | "files" | "queries";
  readonly profiling: boolean;
  readonly debugFlags: boolean;
  /** Whether there is such a path at all. */
  readonly checkpoint: boolean;
  readonly flagz: boolean;
  readonly statusz: boolean;
}

interface Route {
  readonly methods: readonly string[];
  /** Below the service's path: literal tokens, {names}, and {name:*} for all the rest. */
  readonly path: string;
  readonly endpoint: Endpoint;
}

type Place =
  | { readonly kind: "handler"; readonly pattern: string; readonly endpoint: Endpoint }
  | {
      readonly kind: "service";
      readonly pattern: string;
      readonly producesJson: boolean;
      readonly routes: readonly Route[];
    };

/** The paths of a server, made once. */
export interface EndpointTable {
  readonly patterns: readonly string[];
  readonly places: ReadonlyMap<string, Place>;
}

/** What answers a request once it is authorized. */
type Answer =
  | {
      readonly kind: "call";
      readonly endpoint: Endpoint;
      readonly parameters: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "refuse";
      readonly status: number;
      readonly body: string;
      readonly allow?: string | undefined;
    };

export type Lookup =
  /** Answered before anybody is asked who it is. */
  | { readonly kind: "unparsable" }
  | { readonly kind: "open"; readonly target: RequestTarget; readonly match: Unmatched }
  | {
      readonly kind: "guarded";
      readonly target: RequestTarget;
      readonly pattern: string;
      readonly answer: Answer;
    };

type Unmatched = Exclude<MuxMatch, { readonly kind: "found" }>;

export function endpointTable(settings: EndpointSettings): EndpointTable {
  return tableOf([
    ...healthPlaces(settings.healthChecks),
    ...openPlaces,
    ...(settings.debugging ? debuggingPlaces(settings) : disabledPlaces),
  ]);
}

/** A server that has nothing but /healthz. */
export function healthTable(healthChecks: readonly string[]): EndpointTable {
  return tableOf(healthPlaces(healthChecks));
}

function tableOf(places: readonly Place[]): EndpointTable {
  const byPattern = new Map<string, Place>();
  for (const place of places) {
    byPattern.set(place.pattern, place);
    if (place.kind === "service" && !place.pattern.endsWith("/")) {
      byPattern.set(`${place.pattern}/`, place);
    }
  }
  return { patterns: [...byPattern.keys()], places: byPattern };
}

/** Finds what answers a request line; `accept` is the Accept header. */
export function findEndpoint(
  table: EndpointTable,
  method: string,
  rawTarget: string,
  accept: string | undefined,
): Lookup {
  const target = parseRequestTarget(method, rawTarget);
  if (target === undefined) return { kind: "unparsable" };
  const match = matchPattern(table.patterns, method, target);
  if (match.kind !== "found") return { kind: "open", target, match };
  const place = table.places.get(match.pattern);
  if (place === undefined) return { kind: "open", target, match: { kind: "not-found" } };
  const { pattern } = place;
  if (place.kind === "service") {
    return { kind: "guarded", target, pattern, answer: chooseRoute(place, method, target, accept) };
  }
  const call = { kind: "call", endpoint: place.endpoint, parameters: {} } as const;
  return { kind: "guarded", target, pattern, answer: call };
}

function healthPlaces(healthChecks: readonly string[]): readonly Place[] {
  return [
    handler("/healthz", "health"),
    ...healthChecks.map((name) => handler(`/healthz/${name}`, "health-check")),
  ];
}

const openPlaces: readonly Place[] = [
  handler("/metrics/slis", "sli-metrics"),
  service("/pods", true, [get("", "pods")]),
  service("/stats/", true, [both("summary", "stats-summary")]),
  handler("/metrics", "metrics"),
  handler("/metrics/cadvisor", "cadvisor-metrics"),
  handler("/metrics/resource", "resource-metrics"),
  handler("/metrics/probes", "probe-metrics"),
];

function debuggingPlaces(settings: EndpointSettings): readonly Place[] {
  const container = "{podNamespace}/{podID}/{containerName}";
  const uidContainer = "{podNamespace}/{podID}/{uid}/{containerName}";
  return [
    systemLogPlace(settings.systemLogs),
    settings.profiling
      ? service("/debug/pprof/", false, [get("", "profiling"), get("{subpath:*}", "profiling")])
      : handler("/debug/pprof/", "profiling-disabled"),
    handler("/debug/flags/v", settings.debugFlags ? "debug-flags" : "flags-disabled"),
    service("/run", false, [post(container, "run"), post(uidContainer, "run")]),
    service("/exec", false, [both(container, "exec"), both(uidContainer, "exec")]),
    service("/attach", false, [both(container, "attach"), both(uidContainer, "attach")]),
    service("/portForward", false, [
      both("{podNamespace}/{podID}", "port-forward"),
      both("{podNamespace}/{podID}/{uid}", "port-forward"),
    ]),
    service("/containerLogs", false, [get(container, "container-logs")]),
    handler("/configz", "configz"),
    service("/runningpods/", true, [get("", "running-pods")]),
    ...(settings.checkpoint
      ? [service("/checkpoint/", true, [post(container, "checkpoint")])]
      : []),
    ...(settings.flagz ? [handler("/flagz", "flagz")] : []),
    ...(settings.statusz ? [handler("/statusz", "statusz")] : []),
  ];
}

function systemLogPlace(systemLogs: EndpointSettings["systemLogs"]): Place {
  if (systemLogs === "off") return handler("/logs/", "system-logs-disabled");
  const endpoint = systemLogs === "queries" ? "system-log-queries" : "system-logs";
  return service("/logs/", false, [get("", endpoint), get("{logpath:*}", endpoint)]);
}

const disabledPlaces: readonly Place[] = [
  "/run/",
  "/exec/",
  "/attach/",
  "/portForward/",
  "/containerLogs/",
  "/runningpods/",
  "/debug/pprof/",
  "/logs/",
].map((pattern) => handler(pattern, "debugging-disabled"));

function handler(pattern: string, endpoint: Endpoint): Place {
  return { kind: "handler", pattern, endpoint };
}

function service(pattern: string, producesJson: boolean, routes: readonly Route[]): Place {
  return { kind: "service", pattern, producesJson, routes };
}

function get(path: string, endpoint: Endpoint): Route {
  return { methods: ["GET"], path, endpoint };
}

function post(path: string, endpoint: Endpoint): Route {
  return { methods: ["POST"], path, endpoint };
}

function both(path: string, endpoint: Endpoint): Route {
  return { methods: ["GET", "POST"], path, endpoint };
}

const notFound: Answer = { kind: "refuse", status: 404, body: "404: Page Not Found" };

function chooseRoute(
  place: Extract<Place, { kind: "service" }>,
  method: string,
  { path }: RequestTarget,
  accept: string | undefined,
): Answer {
  const tokens = tokenize(textOfBytes(path)).slice(tokenize(place.pattern).length);
  for (const route of place.routes) {
    const parameters = matchTokens(tokenize(route.path), tokens);
    if (parameters === undefined) continue;
    if (!route.methods.includes(method)) {
      const allow = route.methods.join(", ");
      return { kind: "refuse", status: 405, body: "405: Method Not Allowed", allow };
    }
    if (!accepts(accept, place.producesJson)) return notAcceptable(place.producesJson);
    return { kind: "call", endpoint: route.endpoint, parameters };
  }
  return notFound;
}

function tokenize(path: string): readonly string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === "/") start++;
  while (end > start && path[end - 1] === "/") end--;
  return start === end ? [] : path.slice(start, end).split("/");
}

function matchTokens(
  pattern: readonly string[],
  tokens: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const token = tokens[index];
    if (token === undefined) return undefined;
    const [, name, rest] = /^\{(\w+)(:\*)?\}$/.exec(part) ?? [];
    if (rest !== undefined && name !== undefined) {
      return { ...parameters, [name]: tokens.slice(index).join("/") };
    }
    if (name !== undefined) parameters[name] = token;
    else if (part !== token) return undefined;
  }
  return pattern.length === tokens.length ? parameters : undefined;
}

function accepts(accept: string | undefined, producesJson: boolean): boolean {
  if (accept === undefined || accept === "") return true;
  const types = accept.split(",").map((type) => (type.split(";")[0] ?? "").trim());
  return types.includes("*/*") || (producesJson && types.includes("application/json"));
}

function notAcceptable(producesJson: boolean): Answer {
  const body = `406: Not Acceptable\n\nAvailable representations: ${producesJson ? "application/json" : ""}`;
  return { kind: "refuse", status: 406, body };
}
