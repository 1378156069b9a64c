// A plugin that registers itself by a socket, as those of CSI drivers and devices do.
import { rm } from "node:fs/promises";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import {
  type InfoRequest,
  type PluginInfo,
  RegistrationService,
  type RegistrationStatus,
  type RegistrationStatusResponse,
} from "../../src/generated/plugin-registration.ts";

export interface PluginBehaviour extends Partial<PluginInfo> {
  readonly name: string;
  /** Takes calls and never answers. */
  readonly hangs?: boolean;
  readonly notifyError?: string;
}

export class RegisteringPlugin {
  readonly #socketPath: string;
  readonly #server = new Server();
  /** How it was notified, in order. */
  readonly notifications: RegistrationStatus[] = [];
  infoCalls = 0;

  constructor(socketPath: string, behaviour: PluginBehaviour) {
    this.#socketPath = socketPath;
    const { type = "CSIPlugin", name, endpoint = "", supportedVersions = ["1.0.0"] } = behaviour;
    this.#server.addService(RegistrationService, {
      getInfo: (_: ServerUnaryCall<InfoRequest, PluginInfo>, answer: sendUnaryData<PluginInfo>) => {
        this.infoCalls += 1;
        if (behaviour.hangs !== true) answer(null, { type, name, endpoint, supportedVersions });
      },
      notifyRegistrationStatus: (
        { request }: ServerUnaryCall<RegistrationStatus, RegistrationStatusResponse>,
        answer: sendUnaryData<RegistrationStatusResponse>,
      ) => {
        this.notifications.push(request);
        const { notifyError } = behaviour;
        if (notifyError === undefined) answer(null, {});
        else answer({ code: status.UNKNOWN, details: notifyError });
      },
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const credentials = ServerCredentials.createInsecure();
      this.#server.bindAsync(`unix:${this.#socketPath}`, credentials, (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  }

  /** Ends the plugin; its socket goes with it. */
  async stop(): Promise<void> {
    this.#server.forceShutdown();
    await rm(this.#socketPath, { force: true });
  }
}
