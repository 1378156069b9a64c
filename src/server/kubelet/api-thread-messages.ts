import type { MessagePort } from "node:worker_threads";
import type {
  ApiCertificates,
  ApiSettings,
  ListenAddress,
  ListeningPorts,
} from "./api-settings.ts";

/** What the thread of the kubelet's API is started with. */
export interface ApiThreadData {
  readonly settings: ApiSettings;
  readonly certificates: ApiCertificates;
  /** Calls to the agent go over it. */
  readonly agentPort: MessagePort;
  /** One 32-bit number, which the thread counts up as long as it works. */
  readonly progress: SharedArrayBuffer;
}

/** How often the thread counts up. */
export const progressMs = 2_500;

/** From the agent to the thread: the certificates to use from now on. */
export type ApiThreadOrder = ApiCertificates;

/** From the thread to the agent. */
export type ApiThreadEvent =
  | { readonly kind: "listening"; readonly ports: ListeningPorts }
  | { readonly kind: "cannot-listen"; readonly address: ListenAddress; readonly message: string };
