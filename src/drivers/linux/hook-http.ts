import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import type { PodUid } from "../../model/ids.ts";
import type { HookHttp } from "../../ports/hook-http.ts";
import { type HttpGetRequest, httpGetRequest } from "./http-get-request.ts";
import { maxBodyBytes, sendHttpGet } from "./http-probe.ts";
import { networkErrorText } from "./network-error-text.ts";
import type { PodNames } from "./pod-names.ts";

const userAgent = "kube-lifecycle/1.36";

/** Sends the requests of lifecycle hooks from the node. */
export function newHookHttp(names: PodNames): HookHttp {
  const send = async (request: HttpGetRequest, podUid: PodUid, signal: AbortSignal) => {
    const answer = await sendHttpGet(request, names.lookupFor(podUid, signal), signal);
    // A short answer is waited for, as a kubelet does: some servers do the work of the hook while they write it.
    if ((answer.length ?? 0) <= maxBodyBytes) await answer.readBody().catch(() => undefined);
    answer.discard();
    signal.throwIfAborted();
  };
  return {
    get: async (action, { podUid, container, podIp }, signal) => {
      const request = httpGetRequest(action, { container, podIp, userAgent });
      if (!request.ok) throw new Error(request.error);
      try {
        await send(request.value, podUid, signal);
        return undefined;
      } catch (error) {
        if (!isPlainHttpAnswer(request.value, error)) throw requestError(request.value, error);
        // Hooks were once sent in plain text whatever their scheme said; such servers still get theirs.
        await send(withoutTls(request.value), podUid, signal);
        return { plainHost: request.value.urlHost };
      }
    },
  };
}

function isPlainHttpAnswer({ scheme }: HttpGetRequest, error: unknown): boolean {
  return (
    scheme === "https" && /wrong version number|packet length too long/i.test(errorText(error))
  );
}

function requestError({ url, urlHost }: HttpGetRequest, error: unknown): Error {
  return new Error(`Get ${quoteText(url)}: ${networkErrorText(error, urlHost)}`, { cause: error });
}

function withoutTls(request: HttpGetRequest): HttpGetRequest {
  const headers = new Map(request.headers);
  headers.delete("Authorization");
  return { ...request, scheme: "http", headers };
}
