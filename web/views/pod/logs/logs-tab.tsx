import type { ComponentChild, JSX } from "preact";
import { memo } from "preact/compat";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Pod, podContainers } from "../../../../src/model/pod.ts";
import { useAtMs } from "../../../hooks.ts";
import { findText, type LogBlock, type LogLine, maxLines } from "../../../model/log-buffer.ts";
import { useLog } from "./use-log.ts";

/** So near the end counts as at the end. */
const nearPx = 40;

export function LogsTab({ pod }: { readonly pod: Pod | undefined }): JSX.Element {
  const atMs = useAtMs();
  if (atMs !== undefined)
    return <p class="muted">Logs are not part of history: go to now to see them.</p>;
  if (pod === undefined) return <p class="muted">The pod is gone, and its logs with it.</p>;
  return <PodLogs pod={pod} />;
}

function PodLogs({ pod }: { readonly pod: Pod }): JSX.Element {
  const names = podContainers(pod).map(({ container }) => container.name);
  const [chosen, setContainer] = useState(pod.spec.containers[0]?.name ?? "");
  const [follow, setFollow] = useState(true);
  const [previous, setPrevious] = useState(false);
  const [timestamps, setTimestamps] = useState(false);
  const [search, setSearch] = useState("");
  const container = names.includes(chosen) ? chosen : (names[0] ?? "");
  const log = useLog(pod, { container, follow, previous, timestamps });
  const found = useMemo(() => countFound(log.blocks, search), [log, search]);
  return (
    <>
      <div class="log-tools" role="toolbar" aria-label="Log">
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
        <Toggle text="Follow" isOn={follow && !previous} onChange={setFollow} isOff={previous} />
        <Toggle text="Previous run" isOn={previous} onChange={setPrevious} />
        <Toggle text="Timestamps" isOn={timestamps} onChange={setTimestamps} />
        <input
          class="field log-search"
          type="search"
          placeholder="Search"
          aria-label="Search in the log"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <span class="muted" role="status">
          {search === "" ? `${log.count} lines` : `${found} of ${log.count} lines`}
          {log.dropped > 0 && `, ${log.dropped} older ones let go: ${maxLines} are kept`}
        </span>
      </div>
      <LogLines key={container} blocks={log.blocks} search={search} name={container} />
    </>
  );
}

function Toggle({
  text,
  isOn,
  onChange,
  isOff = false,
}: {
  readonly text: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly isOff?: boolean;
}): JSX.Element {
  return (
    <label class="toggle">
      <input
        type="checkbox"
        checked={isOn}
        disabled={isOff}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />{" "}
      {text}
    </label>
  );
}

function LogLines({
  blocks,
  search,
  name,
}: {
  readonly blocks: readonly LogBlock[];
  readonly search: string;
  readonly name: string;
}): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const endRef = useRef(true);
  useEffect(() => {
    const element = ref.current;
    if (element !== null && endRef.current) element.scrollTop = element.scrollHeight;
  }, [blocks, search]);
  const onScroll = (): void => {
    const element = ref.current;
    if (element === null) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    endRef.current = scrollHeight - scrollTop - clientHeight < nearPx;
  };
  return (
    // Scrolled by keyboard, too.
    <div
      class="log"
      role="log"
      aria-label={`Log of ${name}`}
      aria-live="off"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, by keyboard, too
      tabIndex={0}
      ref={ref}
      onScroll={onScroll}
    >
      {blocks.map((block) => (
        <Block key={block.id} block={block} search={search} />
      ))}
      {blocks.length === 0 && <p class="muted">Nothing yet.</p>}
    </div>
  );
}

/** A block is drawn again only when it has grown, or something else is searched. */
const Block: (props: BlockProps) => JSX.Element | null = memo(DrawnBlock);

interface BlockProps {
  readonly block: LogBlock;
  readonly search: string;
}

function DrawnBlock({ block, search }: BlockProps): JSX.Element | null {
  const lines = search === "" ? block.lines : block.lines.filter((line) => isFound(line, search));
  if (lines.length === 0) return null;
  return (
    <div class="log-block">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name and never move within a block
        <div key={index} class={line.isNote ? "log-line note" : "log-line"}>
          {line.isNote ? `── ${line.text} ──` : marked(line.text, search)}
        </div>
      ))}
    </div>
  );
}

function isFound({ text, isNote }: LogLine, search: string): boolean {
  return !isNote && findText(text, search).length > 0;
}

function countFound(blocks: readonly LogBlock[], search: string): number {
  if (search === "") return 0;
  return blocks.reduce(
    (sum, { lines }) => sum + lines.filter((line) => isFound(line, search)).length,
    0,
  );
}

function marked(text: string, search: string): ComponentChild {
  const places = findText(text, search);
  if (places.length === 0) return text;
  const parts: ComponentChild[] = [];
  let at = 0;
  for (const [from, to] of places) {
    parts.push(text.slice(at, from), <mark key={from}>{text.slice(from, to)}</mark>);
    at = to;
  }
  return [...parts, text.slice(at)];
}
