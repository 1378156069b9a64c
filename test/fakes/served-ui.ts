import { type IncomingMessage, request as sendRequest } from "node:http";
import type { Duplex } from "node:stream";
import { digestOf, Logins, newSecret } from "../../src/server/ui/logins.ts";
import { runUiServer } from "../../src/server/ui/ui-server.ts";
import type { UiSettings } from "../../src/server/ui/ui-settings.ts";
import { silentLog } from "../kit/silent-log.ts";
import { webSocketHeaders } from "../kit/websocket-client.ts";

export interface ServedUiPage {
  readonly port: number;
  /** What a browser that has logged in sends along. */
  readonly cookie: string;
  readonly key: string;
  /** Logs one more browser in. */
  loginAddress(): string;
  stop(): Promise<void>;
}

/** The page's server over the local API of an agent, with one browser that has logged in. */
export async function serveUi(
  settings: Pick<UiSettings, "agentSocket" | "terminal" | "pageFolder">,
): Promise<ServedUiPage> {
  const logins = new Logins(() => performance.now());
  const stopping = new AbortController();
  const address = { host: "127.0.0.1", port: 0, setting: "--ui" };
  let served: Promise<void> = Promise.resolve();
  const port = await new Promise<number>((resolve, reject) => {
    const deps = {
      settings: { ...settings, address, mode: "up" } as const,
      logins,
      log: silentLog,
    };
    served = runUiServer(deps, resolve, stopping.signal);
    served.catch(reject);
  });
  logins.allow(digestOf("code"));
  const answer = await fetch(`http://127.0.0.1:${port}/ui/login`, {
    method: "POST",
    headers: { Origin: `http://127.0.0.1:${port}` },
    body: JSON.stringify({ code: "code" }),
  });
  const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  const { key } = (await answer.json()) as { readonly key: string };
  return {
    port,
    cookie,
    key,
    loginAddress: () => {
      const code = newSecret();
      logins.allow(digestOf(code));
      return `http://127.0.0.1:${port}/#login=${code}`;
    },
    stop: async () => {
      stopping.abort();
      await served;
    },
  };
}

export type TerminalAnswer =
  | { readonly kind: "open"; readonly socket: Duplex; readonly head: Buffer }
  | { readonly kind: "refused"; readonly code: number; readonly message: string };

/** Asks for a terminal as a browser does, unless `headers` say otherwise. */
export function askForTerminal(
  { port, cookie, key }: ServedUiPage,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TerminalAnswer> {
  return new Promise((resolve, reject) => {
    const asked = sendRequest({
      host: "127.0.0.1",
      port,
      path: `/ui/terminal?${query}`,
      headers: {
        Host: `127.0.0.1:${port}`,
        Origin: `http://127.0.0.1:${port}`,
        Cookie: cookie,
        ...webSocketHeaders(`berth-terminal, berth-key.${key}`),
        ...headers,
      },
    });
    asked.on("upgrade", (_, socket, head) => resolve({ kind: "open", socket, head }));
    asked.on("response", (answer) => void readRefusal(answer).then(resolve, reject));
    asked.on("error", reject);
    asked.end();
  });
}

async function readRefusal(answer: IncomingMessage): Promise<TerminalAnswer> {
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  const { message } = JSON.parse(text) as { readonly message: string };
  return { kind: "refused", code: answer.statusCode ?? 0, message };
}
