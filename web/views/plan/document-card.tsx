import type { ComponentChildren, JSX } from "preact";
import type { PlannedDocument, PlanProblemLine } from "./plan-messages.ts";

/** What the node would do with one document. */
export function DocumentCard({
  document,
  onPlace,
}: {
  readonly document: PlannedDocument;
  /** Called with the problem whose place is to be shown. */
  readonly onPlace: (problem: PlanProblemLine) => void;
}): JSX.Element {
  const { title, verdict, problems, facts, changes, ignored, steps } = document;
  return (
    <article class="card">
      <h2>
        <span class={`badge ${verdict === "accepted" ? "good" : "bad"}`}>{verdict}</span> {title}
      </h2>
      {problems.length > 0 && (
        <ul class="problems">
          {problems.map((problem, index) => (
            <Problem key={index} problem={problem} onPlace={onPlace} />
          ))}
        </ul>
      )}
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {steps.length > 0 && (
        <Fold title={`${steps.length} steps, if each succeeds`} isOpen>
          <ol class="steps">
            {steps.map(({ what, because }, index) => (
              <li key={index}>
                {what} <span class="muted">because {because}</span>
              </li>
            ))}
          </ol>
        </Fold>
      )}
      <Ignored ignored={ignored} />
      <Changes changes={changes} />
    </article>
  );
}

function Problem({
  problem,
  onPlace,
}: {
  readonly problem: PlanProblemLine;
  readonly onPlace: (problem: PlanProblemLine) => void;
}): JSX.Element {
  const { line, column, field, message } = problem;
  const isNamed = field === undefined || message.includes(field);
  return (
    <li>
      {line !== undefined && (
        <button type="button" class="place" onClick={() => onPlace(problem)}>
          line {line}
          {column !== undefined && `, column ${column}`}
        </button>
      )}{" "}
      {!isNamed && <code>{field}: </code>}
      {message}
    </li>
  );
}

function Fold({
  title,
  isOpen,
  children,
}: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

function Ignored({ ignored }: Pick<PlannedDocument, "ignored">): JSX.Element | null {
  if (ignored.length === 0) return null;
  return (
    <Fold title={`${ignored.length} without effect`} isOpen>
      <dl class="facts">
        {ignored.map(({ field, reason }) => (
          <div key={field}>
            <dt class="mono">{field}</dt>
            <dd>{reason}</dd>
          </div>
        ))}
      </dl>
    </Fold>
  );
}

function Changes({ changes }: Pick<PlannedDocument, "changes">): JSX.Element | null {
  if (changes.length === 0) return null;
  return (
    <Fold title={`${changes.length} filled in or changed`} isOpen={false}>
      <dl class="facts">
        {changes.map(({ field, to, from }) => (
          <div key={field}>
            <dt class="mono">{field}</dt>
            <dd class="mono">
              {to}
              {from !== "" && <span class="muted"> (the document says {from})</span>}
            </dd>
          </div>
        ))}
      </dl>
    </Fold>
  );
}
