import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Pod, podContainers } from "../../../../src/model/pod.ts";
import { useAtMs, usePage, useStore } from "../../../hooks.ts";
import { splitCommand } from "../../../model/split-command.ts";
import type { TerminalState } from "./open-terminal.ts";

export function TerminalTab({ pod }: { readonly pod: Pod | undefined }): JSX.Element {
  const atMs = useAtMs();
  const info = useStore(usePage().info);
  if (atMs !== undefined) return <p class="muted">Nothing can be run in the past: go to now.</p>;
  if (pod === undefined) return <p class="muted">The pod is gone: nothing can be run in it.</p>;
  if (info === undefined) return <p class="muted">…</p>;
  if (!info.terminal) {
    return (
      <p>
        This page may not run commands in containers. Start the agent with{" "}
        <code>--ui-terminal</code> beside <code>--ui</code> (<code>BERTH_UI_TERMINAL=on</code> for{" "}
        <code>berth kubelet</code>) to allow it, or use <code>berth exec</code>.
      </p>
    );
  }
  return <PodTerminal pod={pod} />;
}

interface Opened {
  readonly container: string;
  readonly command: readonly string[];
  /** Each time it is opened. */
  readonly number: number;
}

function PodTerminal({ pod }: { readonly pod: Pod }): JSX.Element {
  const names = podContainers(pod).map(({ container }) => container.name);
  const [container, setContainer] = useState(pod.spec.containers[0]?.name ?? "");
  const [command, setCommand] = useState("sh");
  const [opened, setOpened] = useState<Opened | undefined>(undefined);
  const [state, setState] = useState<TerminalState>({ is: "closed", text: "" });
  const isOpen = state.is === "open" || state.is === "opening";
  const start = (event: Event): void => {
    event.preventDefault();
    const words = splitCommand(command);
    if (!words.ok) setState({ is: "closed", text: words.error });
    else setOpened({ container, command: words.value, number: (opened?.number ?? 0) + 1 });
  };
  return (
    <>
      <form class="terminal-tools" onSubmit={start}>
        <select
          class="field"
          aria-label="Container"
          value={container}
          onChange={({ currentTarget }) => setContainer(currentTarget.value)}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <input
          class="field mono command"
          aria-label="Command"
          value={command}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => setCommand(currentTarget.value)}
        />
        <button type="submit" class="button primary" disabled={isOpen}>
          Run
        </button>
        <button
          type="button"
          class="button"
          disabled={!isOpen}
          onClick={() => setOpened(undefined)}
        >
          End
        </button>
        <span class="muted" role="status">
          {state.text}
        </span>
      </form>
      {opened !== undefined && (
        <Screen
          key={opened.number}
          query={queryOf(pod, opened)}
          onChange={setState}
          onUnmount={() => setState({ is: "closed", text: "ended" })}
        />
      )}
    </>
  );
}

function queryOf({ metadata }: Pod, { container, command }: Opened): string {
  const { namespace, name } = metadata;
  const query = new URLSearchParams({ namespace, pod: name, container });
  for (const word of command) query.append("command", word);
  return query.toString();
}

function Screen({
  query,
  onChange,
  onUnmount,
}: {
  readonly query: string;
  readonly onChange: (state: TerminalState) => void;
  readonly onUnmount: () => void;
}): JSX.Element {
  const { client } = usePage();
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const end = new AbortController();
    const { current: element } = ref;
    const open = async (): Promise<void> => {
      // Most visitors open none: it is loaded when it is used.
      const { openTerminal } = await import("./open-terminal.ts");
      if (element === null || end.signal.aborted) return;
      openTerminal({ element, query, key: client.key ?? "", onChange }, end.signal);
    };
    open().catch(() => onChange({ is: "closed", text: "the terminal could not be loaded" }));
    return () => {
      end.abort();
      onUnmount();
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- it is opened once, by its key
  }, []);
  return <div class="terminal-screen" ref={ref} />;
}
