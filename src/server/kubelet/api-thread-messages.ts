import type { ListenAddress } from "../tcp-server.ts";
import type { ThreadStart } from "../thread/thread-start.ts";
import type { ApiCertificates, ApiSettings, ListeningPorts } from "./api-settings.ts";

/** What the thread of the kubelet's API is started with. */
export interface ApiThreadData extends ThreadStart {
  readonly settings: ApiSettings;
  readonly certificates: ApiCertificates;
}

/** From the agent to the thread: the certificates to use from now on. */
export type ApiThreadOrder = ApiCertificates;

/** From the thread to the agent. */
export type ApiThreadEvent =
  | { readonly kind: "listening"; readonly ports: ListeningPorts }
  | { readonly kind: "cannot-listen"; readonly address: ListenAddress; readonly message: string };
