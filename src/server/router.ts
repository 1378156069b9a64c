// Finds the handler of a request by its path. Patterns are literal segments and {names}.

type ParameterNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

/** The values of the {names} in a path. */
export type PathParameters<Path extends string> = Readonly<Record<ParameterNames<Path>, string>>;

type Parameters = Readonly<Record<string, string>>;

export interface Route<Exchange> {
  readonly methods: readonly string[];
  readonly segments: readonly string[];
  readonly handle: (parameters: Parameters, exchange: Exchange) => Promise<void> | void;
}

export type RouteMatch<Exchange> =
  | { readonly kind: "not-found" }
  | { readonly kind: "wrong-method"; readonly allowed: readonly string[] }
  | {
      readonly kind: "found";
      readonly query: URLSearchParams;
      readonly handle: (exchange: Exchange) => Promise<void> | void;
    };

/** Declares a route; the handler gets the path's parameters by their names. */
export function route<Path extends string, Exchange>(
  methods: readonly string[],
  path: Path,
  handle: (parameters: PathParameters<Path>, exchange: Exchange) => Promise<void> | void,
): Route<Exchange> {
  return {
    methods,
    segments: path.split("/"),
    handle: (parameters, exchange) => handle(parameters, exchange),
  };
}

/** Matches a request target as it came over the wire: nothing is cleaned up, what looks odd is not found. */
export function matchRoute<Exchange>(
  routes: readonly Route<Exchange>[],
  method: string,
  target: string,
): RouteMatch<Exchange> {
  const queryStart = target.indexOf("?");
  const path = queryStart < 0 ? target : target.slice(0, queryStart);
  const segments = decodeSegments(path);
  if (segments === undefined) return { kind: "not-found" };
  const allowed: string[] = [];
  for (const candidate of routes) {
    const parameters = matchSegments(candidate.segments, segments);
    if (parameters === undefined) continue;
    if (candidate.methods.includes(method)) {
      return {
        kind: "found",
        query: new URLSearchParams(queryStart < 0 ? "" : target.slice(queryStart + 1)),
        handle: (exchange) => candidate.handle(parameters, exchange),
      };
    }
    allowed.push(...candidate.methods);
  }
  return allowed.length === 0 ? { kind: "not-found" } : { kind: "wrong-method", allowed };
}

function decodeSegments(path: string): readonly string[] | undefined {
  if (!path.startsWith("/")) return undefined;
  try {
    return path.split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function matchSegments(
  pattern: readonly string[],
  segments: readonly string[],
): Parameters | undefined {
  if (pattern.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? "";
    const name = /^\{(.*)\}$/.exec(expected)?.[1];
    if (name === undefined) {
      if (segment !== expected) return undefined;
    } else {
      // A parameter becomes part of names and paths: it is one plain word or nothing.
      if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(segment)) return undefined;
      parameters[name] = segment;
    }
  }
  return parameters;
}
