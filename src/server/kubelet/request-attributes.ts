// What a request asks of the authorizer: a verb on a subresource of this node.

/** How requests over the kubelet's API are authorized. */
export interface AttributeRules {
  readonly nodeName: string;
  /** Upstream's rule: a GET that runs something in a container (over WebSocket) asks for `get` only. */
  readonly upstreamExecVerb: boolean;
}

/** One question to the authorizer; always about the resource nodes of the API's v1. */
export interface NodeAttributes {
  readonly verb: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
}

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** Subresources of their own, each with the broad one to ask about next. */
const fineGrained: readonly (readonly [path: string, subresources: readonly string[]])[] = [
  ["/pods", ["pods", "proxy"]],
  ["/healthz", ["healthz", "proxy"]],
  ["/configz", ["configz", "proxy"]],
  ["/runningpods", ["pods", "proxy"]],
  ["/stats", ["stats"]],
  ["/metrics", ["metrics"]],
  ["/logs", ["log"]],
  ["/checkpoint", ["checkpoint"]],
  ["/statusz", ["statusz"]],
  ["/flagz", ["configz"]],
];
const intoContainers = ["/exec", "/attach", "/run", "/portForward"];

/** The questions in the order they are asked: the first that is allowed allows the request. */
export function requestAttributes(
  method: string,
  path: string,
  { nodeName, upstreamExecVerb }: AttributeRules,
): readonly NodeAttributes[] {
  const entersContainer = intoContainers.some((root) => isBelow(path, root));
  const verb = entersContainer && !upstreamExecVerb ? "create" : (verbs[method] ?? "");
  const [, subresources] = fineGrained.find(([root]) => isBelow(path, root)) ?? ["", ["proxy"]];
  return subresources.map((subresource) => ({ verb, subresource, name: nodeName, path }));
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}
