import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Filter } from "../../lib/pod-lines.ts";
import { onSearchKey } from "../../lib/search-key.ts";

/** What the table shows. "/" goes to the search from anywhere. */
export function PodFilter({
  filter,
  onChange,
  namespaces,
  problems,
}: {
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
  readonly namespaces: readonly string[];
  /** How many pods are not as they should be. */
  readonly problems: number;
}): JSX.Element {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => onSearchKey(() => search.current?.focus()), []);
  return (
    <search class="filter">
      <input
        ref={search}
        class="field search"
        type="search"
        aria-label="Search pods by name, status, address, label or image"
        placeholder="Search  ( / )"
        value={filter.search}
        onInput={({ currentTarget }) => onChange({ ...filter, search: currentTarget.value })}
      />
      <select
        class="field"
        aria-label="Namespace"
        value={filter.namespace}
        onChange={({ currentTarget }) => onChange({ ...filter, namespace: currentTarget.value })}
      >
        <option value="">All namespaces</option>
        {namespaces.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <button
        type="button"
        class="button toggle"
        aria-pressed={filter.onlyProblems}
        onClick={() => onChange({ ...filter, onlyProblems: !filter.onlyProblems })}
      >
        Problems <span class={problems === 0 ? "count" : "count bad"}>{problems}</span>
      </button>
    </search>
  );
}
