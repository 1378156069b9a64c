import { errorText } from "../../lib/error-text.ts";
import { type HttpGetRequest, httpGetRequest } from "../../model/http-get-request.ts";
import type { HookHttp } from "../../ports/hook-http.ts";
import { sendHttpGet } from "./http-probe.ts";

const userAgent = "kube-lifecycle/1.36";

/** Sends the requests of lifecycle hooks from the node. */
export const hookHttp: HookHttp = {
  get: async (action, container, podIp, signal) => {
    const request = httpGetRequest(action, { container, podIp, userAgent });
    if (!request.ok) throw new Error(request.error);
    try {
      await sendHttpGet(request.value, signal);
      return undefined;
    } catch (error) {
      if (!isPlainHttpAnswer(request.value, error)) throw error;
      // Hooks were once sent in plain text whatever their scheme said; such servers still get theirs.
      await sendHttpGet(withoutTls(request.value), signal);
      return { plainHost: request.value.urlHost };
    }
  },
};

function isPlainHttpAnswer({ scheme }: HttpGetRequest, error: unknown): boolean {
  return (
    scheme === "https" && /wrong version number|packet length too long/i.test(errorText(error))
  );
}

function withoutTls(request: HttpGetRequest): HttpGetRequest {
  const headers = new Map(request.headers);
  headers.delete("Authorization");
  return { ...request, scheme: "http", headers };
}
