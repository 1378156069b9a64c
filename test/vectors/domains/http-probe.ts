import { httpGetRequest } from "../../../src/drivers/linux/http-get-request.ts";
import { decideRedirect, judgeResponse } from "../../../src/drivers/linux/http-probe.ts";
import type { Container, HTTPGetAction } from "../../../src/model/generated/kubernetes.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly httpGet: HTTPGetAction;
  readonly container: Container;
  readonly podIP: string;
  readonly response?: { readonly status: number; readonly body: string; readonly error: string };
  readonly redirect?: { readonly to: string; readonly count: number };
}

const redirects = {
  follow: "follow",
  "use last response": "net/http: use last response",
  "too many": "stopped after 10 redirects",
} as const;

export const httpProbe: VectorDomain = vectorDomain<Input>("http-probe", (input) => {
  const { httpGet, container, podIP, response, redirect } = input;
  const userAgent = "kube-probe/1.36";
  const built = httpGetRequest(httpGet, { container, podIp: podIP, userAgent });
  if (!built.ok) return { error: built.error };
  const { url, urlHost, requestUri, hostHeader, headers } = built.value;
  const to = redirect === undefined ? undefined : new URL(redirect.to);
  const hostname = to?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";
  return {
    method: "GET",
    url,
    urlHost,
    requestURI: requestUri,
    hostHeader,
    headers: Object.fromEntries(headers),
    ...(response === undefined
      ? {}
      : response.error === ""
        ? judgeResponse(response.status, response.body)
        : { result: "failure", output: response.error }),
    ...(redirect === undefined
      ? {}
      : { redirect: redirects[decideRedirect(built.value, { hostname }, redirect.count)] }),
  };
});
