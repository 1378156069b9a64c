// "What if": a manifest, and what this node would do with it. Nothing leaves the browser.
import type { JSX, RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { sizeText } from "../../../src/lib/size-text.ts";
import type { NodeDescription } from "../../../src/model/holding.ts";
import { usePage, useRead } from "../../hooks.ts";
import { ReadProblem } from "../../parts/read-problem.tsx";
import { DocumentCard } from "./document-card.tsx";
import type { PlanProblemLine, PlanRequest } from "./plan-messages.ts";
import { type Planning, usePlanner } from "./use-planner.ts";

/** What fits into a field without making the browser slow; `berth plan` takes more. */
const maxLength = 1024 * 1024;

export function PlanView(): JSX.Element {
  const page = usePage();
  const { value: description, failure } = useRead<NodeDescription>("/berth/v1/node");
  const [request, setRequest] = useState<PlanRequest | undefined>(undefined);
  const field = useRef<HTMLTextAreaElement>(null);
  const planning = usePlanner(request);
  const plan = (text: string): void => {
    if (description === undefined || text.trim() === "") return;
    setRequest({ node: description.node, pods: [...page.pods.value.byUid.values()], text });
  };
  const isReady = description !== undefined && planning.kind !== "planning";
  return (
    <section aria-labelledby="plan-title">
      <h1 id="plan-title">What if</h1>
      <p class="muted plan-intro">
        What this node would do with a manifest, as <code>berth plan</code> says it. Nothing is
        started, and the text stays in this browser.
      </p>
      <ReadProblem failure={failure} />
      <div class="plan">
        <ManifestForm field={field} isReady={isReady} onPlan={plan} />
        <Result planning={planning} onPlace={(problem) => select(field.current, problem)} />
      </div>
    </section>
  );
}

function ManifestForm({
  field,
  isReady,
  onPlan,
}: {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly isReady: boolean;
  readonly onPlan: (text: string) => void;
}): JSX.Element {
  const [tooLarge, setTooLarge] = useState<number | undefined>(undefined);
  const isFitting = (length: number): boolean => {
    setTooLarge(length > maxLength ? length : undefined);
    return length <= maxLength;
  };
  const plan = (): void => {
    const text = field.current?.value ?? "";
    if (isReady && isFitting(text.length)) onPlan(text);
  };
  const open = async (file: File | undefined): Promise<void> => {
    if (file === undefined || !isFitting(file.size)) return;
    put(field.current, await file.text());
    plan();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    plan();
  };
  return (
    <form class="plan-form" onSubmit={submit}>
      <label htmlFor="manifest">Manifest (YAML or JSON)</label>
      <textarea
        ref={field}
        id="manifest"
        class="field mono manifest"
        spellcheck={false}
        autocomplete="off"
        placeholder={example}
        onPaste={(event) => {
          // A field that is given megabytes hangs: it does not get them.
          const { length } = event.clipboardData?.getData("text") ?? "";
          if (!isFitting(length)) event.preventDefault();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
        }}
      />
      <div class="plan-actions">
        <button type="submit" class="button primary" disabled={!isReady}>
          Plan
        </button>
        <input
          type="file"
          class="plan-file"
          aria-label="Open a file"
          accept=".yaml,.yml,.json"
          onChange={({ currentTarget }) => void open(currentTarget.files?.[0])}
        />
        <span class="muted">Ctrl+Enter plans</span>
      </div>
      {tooLarge !== undefined && (
        <p class="note bad" role="alert">
          This has {sizeText(tooLarge)}; the page plans at most {sizeText(maxLength)}. For more, run{" "}
          <code>berth plan -f FILE</code> on the node.
        </p>
      )}
    </form>
  );
}

function put(field: HTMLTextAreaElement | null, text: string): void {
  if (field !== null) field.value = text;
}

function Result({
  planning,
  onPlace,
}: {
  readonly planning: Planning;
  readonly onPlace: (problem: PlanProblemLine) => void;
}): JSX.Element {
  return (
    <div class="plan-result" role="status" aria-label="Plan">
      {planning.kind === "planning" && <p class="muted">Planning…</p>}
      {planning.kind === "failed" && <p class="note bad">{planning.message}</p>}
      {planning.kind === "planned" && planning.documents.length === 0 && (
        <p class="muted">There is no document in it.</p>
      )}
      {planning.kind === "planned" &&
        planning.documents.map((document, index) => (
          <DocumentCard key={index} document={document} onPlace={onPlace} />
        ))}
    </div>
  );
}

/** Shows where a problem is. */
function select(field: HTMLTextAreaElement | null, { line, column = 1 }: PlanProblemLine): void {
  if (field === null || line === undefined) return;
  const lines = field.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  const end = before + (lines[line - 1]?.length ?? 0);
  field.focus();
  field.setSelectionRange(Math.min(before + column - 1, end), end);
  field.scrollTop = (field.scrollHeight / lines.length) * Math.max(0, line - 4);
}

const example = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - name: web
      image: nginx`;
