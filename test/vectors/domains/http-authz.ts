import { checkAccess } from "../../../src/server/kubelet/check-access.ts";
import { endpointTable, findEndpoint } from "../../../src/server/kubelet/endpoints.ts";
import { requestAttributes } from "../../../src/server/kubelet/request-attributes.ts";
import { textOfBytes } from "../../../src/server/kubelet/request-target.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly enableDebuggingHandlers: boolean;
  readonly authn: "ok" | "none" | "error";
  readonly allow: readonly string[] | null;
  readonly authorizerErrorOn?: string;
}

const rules = { nodeName: "node-a", upstreamExecVerb: true };
const statuses = { "bad-request": 400, "not-found": 404, redirect: 307 } as const;

export const httpAuthz: VectorDomain = vectorDomain<Input>("http-authz", async (input) => {
  const { method, headers = {}, enableDebuggingHandlers } = input;
  const table = endpointTable({
    healthChecks: ["ping", "log", "syncloop"],
    debugging: enableDebuggingHandlers,
    systemLogs: "files",
    profiling: true,
    debugFlags: true,
    checkpoint: true,
    flagz: true,
    statusz: true,
  });
  const target = Buffer.from(input.target, "utf8").toString("latin1");
  const lookup = findEndpoint(table, method, target, headers["Accept"]);
  if (lookup.kind === "unparsable") return { parseError: true };
  const path = textOfBytes(lookup.target.path);
  if (lookup.kind === "open") {
    const location = lookup.match.kind === "redirect" ? lookup.match.location : undefined;
    return { path, allowed: false, status: statuses[lookup.match.kind], location };
  }
  const asked: string[] = [];
  const access = await checkAccess(
    {
      ...rules,
      authenticate: () => {
        if (input.authn === "error") return Promise.reject(new Error("no answer"));
        return Promise.resolve(input.authn === "ok" ? { name: "alice", groups: [] } : undefined);
      },
      authorize: (_, { subresource }) => {
        asked.push(subresource);
        if (subresource === input.authorizerErrorOn) return Promise.reject(new Error("no answer"));
        return Promise.resolve(input.allow?.includes(subresource) ?? false);
      },
    },
    undefined,
    { method, path },
    new AbortController().signal,
  );
  const attributes = requestAttributes(method, path, rules).map((each) => ({
    user: "alice",
    apiGroup: "",
    apiVersion: "v1",
    namespace: "",
    resource: "nodes",
    resourceRequest: true,
    readOnly: each.verb === "get",
    ...each,
  }));
  return {
    path,
    allowed: access.kind === "allowed",
    asked,
    attributes: asked.length === 0 ? null : attributes,
    ...(access.kind === "refused" ? { status: access.status, body: access.body } : {}),
  };
});
