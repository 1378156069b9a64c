// A terminal in the page, and its connection. Loaded when one is opened.
import { Terminal } from "@xterm/headless";
import { parseJsonText } from "../../../../src/lib/json-text.ts";
import { keySequence } from "../../../model/key-sequence.ts";
import { TerminalScreen } from "./terminal-screen.ts";

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
  const terminal = new Terminal({ scrollback: scrollbackLines, allowProposedApi: true });
  const screen = new TerminalScreen(terminal, element);
  const socket = new WebSocket(`ws://${location.host}/ui/terminal?${query}`, [
    "berth-terminal",
    `berth-key.${key}`,
  ]);
  socket.binaryType = "arraybuffer";
  onChange({ is: "opening", text: "connecting …" });
  let end = "the connection was closed";
  const sendSize = (): void => {
    const { cols: columns, rows } = terminal;
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(JSON.stringify({ resize: { columns, rows } }));
  };
  const type = (text: string): void => send(socket, new TextEncoder().encode(text));
  socket.addEventListener("open", () => {
    onChange({ is: "open", text: "" });
    sendSize();
  });
  socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === "string") {
      end = endText(data);
      return;
    }
    try {
      terminal.write(new Uint8Array(data), () => screen.redraw());
    } catch {
      // It takes no more than 50 MB ahead of what it has shown, and browsers cannot have a server wait.
      end = "ended: more is printed than this page can show";
      onChange({ is: "closed", text: end });
      socket.close();
    }
  });
  socket.addEventListener("error", () => {
    end = "no terminal: the agent did not allow it, or has too many open";
  });
  socket.addEventListener("close", () => {
    if (!signal.aborted) onChange({ is: "closed", text: end });
  });
  // What programs ask a terminal for, such as where its cursor is.
  terminal.onData(type);
  terminal.onResize(sendSize);
  takeInput(terminal, screen, type);
  const observer = new ResizeObserver(() => screen.fit());
  observer.observe(element);
  screen.fit();
  screen.input.focus();
  signal.addEventListener("abort", () => {
    observer.disconnect();
    socket.close();
    terminal.dispose();
    screen.remove();
  });
}

function takeInput(
  { modes }: Pick<Terminal, "modes">,
  { input }: TerminalScreen,
  type: (text: string) => void,
): void {
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const sequence = keySequence(event, modes.applicationCursorKeysMode);
    if (sequence === undefined) return;
    event.preventDefault();
    type(sequence);
  });
  input.addEventListener("input", (event) => {
    if (event instanceof InputEvent && event.isComposing) return;
    type(input.value);
    input.value = "";
  });
  input.addEventListener("compositionend", () => {
    type(input.value);
    input.value = "";
  });
  input.addEventListener("paste", (event) => {
    event.preventDefault();
    const text = (event.clipboardData?.getData("text/plain") ?? "").replace(/\r?\n/g, "\r");
    // A program that knows pasted text by its brackets is not to be given others within it.
    const safe = text.replaceAll("\u001b", "");
    type(modes.bracketedPasteMode ? `\u001b[200~${safe}\u001b[201~` : safe);
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
