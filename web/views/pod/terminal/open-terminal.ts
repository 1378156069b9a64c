// A terminal in the page, and its connection. Loaded when one is opened.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { parseJsonText } from "../../../../src/lib/json-text.ts";
import { withSheets } from "./with-sheets.ts";

export interface TerminalState {
  readonly is: "opening" | "open" | "closed";
  readonly text: string;
}

export interface OpenedTerminal {
  readonly element: HTMLElement;
  readonly query: string;
  readonly key: string;
  readonly onChange: (state: TerminalState) => void;
}

/** The server takes no larger messages. */
const maxMessageBytes = 32 * 1024;
const scrollbackLines = 5_000;

/** Until `signal` aborts or the command ends. What was printed stays. */
export function openTerminal(
  { element, query, key, onChange }: OpenedTerminal,
  signal: AbortSignal,
): void {
  const terminal = new Terminal({
    scrollback: scrollbackLines,
    fontFamily: getComputedStyle(element).getPropertyValue("--mono"),
    fontSize: 13,
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    screenReaderMode: true,
    theme: { background: "#101216" },
    // A container may not open anything by a link that it prints.
    linkHandler: { activate: () => undefined },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  withSheets(() => terminal.open(element));
  fit.fit();
  terminal.focus();
  const socket = new WebSocket(`ws://${location.host}/ui/terminal?${query}`, [
    "berth-terminal",
    `berth-key.${key}`,
  ]);
  socket.binaryType = "arraybuffer";
  onChange({ is: "opening", text: "connecting …" });
  let end = "the connection was closed";
  const sendSize = (): void => {
    const { cols: columns, rows } = terminal;
    if (socket.readyState === WebSocket.OPEN)
      socket.send(JSON.stringify({ resize: { columns, rows } }));
  };
  socket.addEventListener("open", () => {
    onChange({ is: "open", text: "" });
    sendSize();
  });
  socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === "string") end = endText(data);
    else terminal.write(new Uint8Array(data));
  });
  socket.addEventListener("error", () => {
    end = "no terminal: the agent did not allow it, or has too many open";
  });
  socket.addEventListener("close", () => {
    terminal.options.disableStdin = true;
    terminal.options.cursorBlink = false;
    if (!signal.aborted) onChange({ is: "closed", text: end });
  });
  terminal.onData((typed) => send(socket, new TextEncoder().encode(typed)));
  terminal.onBinary((typed) =>
    send(
      socket,
      Uint8Array.from(typed, (each) => each.charCodeAt(0)),
    ),
  );
  terminal.onResize(sendSize);
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(element);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    socket.close();
    terminal.dispose();
  });
}

function send(socket: WebSocket, bytes: Uint8Array): void {
  if (socket.readyState !== WebSocket.OPEN) return;
  for (let start = 0; start < bytes.length; start += maxMessageBytes) {
    socket.send(bytes.slice(start, start + maxMessageBytes));
  }
}

function endText(message: string): string {
  const { exit, error } = parseJsonText(message) as {
    readonly exit?: { readonly code: number };
    readonly error?: string;
  };
  return exit === undefined ? (error ?? "ended") : `ended with exit code ${exit.code}`;
}
